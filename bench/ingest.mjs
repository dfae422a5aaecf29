// How fast the ledger takes records, and what a record costs its process: `npm run bench:ingest` (SQLite, and Postgres where its
// binaries are found). Batches of 256, as workers send them; 2,000 keys, 40 models, 60 targets.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noPrices } from '../dist/control/ledger/price.js'
import { usage, verifyLedger } from '../dist/control/ledger/queries.js'
import { rowsOf } from '../dist/control/ledger/rows.js'
import { writeEntries } from '../dist/control/ledger/write.js'
import { openStore } from '../dist/control/store/store.js'
import { hasPostgres, startPostgres } from '../tools/postgres.mjs'

const RECORDS = Number(process.argv[2] ?? 50_000)
const AT_ONCE = Number(process.argv[3] ?? 1024)

function record(index) {
  const at = Date.now() - RECORDS + index
  return {
    id: at.toString(16).padStart(12, '0') + randomBytes(10).toString('hex'),
    at,
    key: `key-${(index * 7919) % 2000}`,
    team: `team-${index % 50}`,
    group: 'default',
    model: `model-${(index * 31) % 40}`,
    target: `up-${(index * 17) % 6}/model-${(index * 31) % 10}`,
    route: 'chat',
    dialect: 'chat',
    upstreamDialect: 'messages',
    status: index % 100 === 0 ? 503 : 200,
    ended: index % 100 === 0 ? 2 : 0,
    isStream: index % 2 === 0,
    input: 100 + (index % 1000),
    output: 50 + (index % 300),
    cached: 0,
    attempts: 1,
    firstByte: 210.5,
    firstToken: 220.25,
    total: 900.75,
    bytesIn: 1200,
    bytesOut: 5300,
    words: { endUser: `user-${index % 500}`, session: `session-${Math.floor(index / 20)}` },
  }
}

async function measure(name, at) {
  const store = await openStore({ at, mayMigrate: true })
  const all = Array.from({ length: RECORDS }, (_, index) => record(index))
  const began = performance.now()
  const before = process.cpuUsage()
  for (let index = 0; index < all.length; index += AT_ONCE)
    await writeEntries(store, await rowsOf(all.slice(index, index + AT_ONCE), store, noPrices), 0, [])
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - began) / 1000
  const asked = performance.now()
  await usage(store, {
    by: ['model'],
    from: Date.now() - 86_400_000 * 7,
    to: Date.now() + 1000,
    key: undefined,
    model: undefined,
    limit: 100,
  })
  const took = performance.now() - asked
  const { rows, differences } = await verifyLedger(store)
  console.log(
    `${name.padEnd(9)} ${Math.round(RECORDS / seconds)} rows/s, ${((user + system) / RECORDS).toFixed(1)} µs CPU a row; usage by model from rows ${took.toFixed(0)} ms; ${rows} rows, ${Object.keys(differences).length} rollups that differ`,
  )
  await store.close()
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-ingest-'))
await measure('SQLite', join(folder, 'store.sqlite'))
rmSync(folder, { recursive: true, force: true })
if (hasPostgres) {
  const postgres = await startPostgres()
  await measure('Postgres', await postgres.database())
  await postgres.close()
} else console.log('Postgres  not run: its binaries are not here (apt-get install postgresql)')
