// Measures how fast the ledger writes records, and their cost in its process: `npm run bench:ingest` (SQLite, and Postgres if its
// binaries are found). Batches have the size that they have under load; bench/ledger-records.mjs makes the records.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordedPrice } from '../dist/control/ledger/price.js'
import { verifyLedger } from '../dist/control/ledger/queries.js'
import { rowsOf } from '../dist/control/ledger/rows.js'
import { writeEntries } from '../dist/control/ledger/write.js'
import { openStore } from '../dist/control/store/store.js'
import { hasPostgres, startPostgres } from '../tools/postgres.mjs'
import { record } from './ledger-records.mjs'

const RECORDS = Number(process.argv[2] ?? 50_000)
const AT_ONCE = Number(process.argv[3] ?? 2048)

async function measure(name, at) {
  const store = await openStore({ at, mayMigrate: true })
  const now = Date.now()
  const all = Array.from({ length: RECORDS }, (_, index) => record(index, now - RECORDS + index))
  const began = performance.now()
  const before = process.cpuUsage()
  for (let index = 0; index < all.length; index += AT_ONCE)
    await writeEntries(store, await rowsOf(all.slice(index, index + AT_ONCE), store, recordedPrice), 0, [])
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - began) / 1000
  const { rows, differences } = await verifyLedger(store)
  console.log(
    `${name.padEnd(9)} ${Math.round(RECORDS / seconds)} rows/s, ${((user + system) / RECORDS).toFixed(1)} µs CPU a row; ${rows} rows, ${Object.keys(differences).length} rollups that differ; load ${loadavg()[0].toFixed(1)}`,
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
} else console.log('Postgres  not run: its binaries were not found (apt-get install postgresql)')
