// Measures how fast the ledger answers with many rows: `npm run ledger:size -- --rows 1000000`. Fills a store of each engine with that
// many exchanges of 30 days, through the real intake, and runs each query of the console; prints rows a second, the 95th
// percentile of the answer times, the CPU time of this process (of SQLite, not of Postgres's server), the size of rows and rollups,
// and the time to remove a day. `--engine sqlite|postgres` measures one of both, `--times 20` sets the repetitions, `--folder` the
// folder of SQLite's file.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { record } from '../bench/ledger-records.mjs'
import { listAccounts } from '../dist/control/budgets/accounts.js'
import { recordedPrice } from '../dist/control/ledger/price.js'
import { listExchanges, showExchange, usage } from '../dist/control/ledger/queries.js'
import { rowsOf } from '../dist/control/ledger/rows.js'
import { writeEntries } from '../dist/control/ledger/write.js'
import { ROLLUPS } from '../dist/control/store/columns.js'
import { openStore } from '../dist/control/store/store.js'
import { hasPostgres, startPostgres } from './postgres.mjs'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    times: { type: 'string', default: '20' },
    engine: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const ROWS = Number(values.rows)
const TIMES = Number(values.times)
const AT_ONCE = 2048
const DAY = 86_400_000
const DAYS = 30
/** The goal for an answer: milliseconds. */
const GOAL = 300
const ROWS_A_SECOND = 5_000

const now = Date.now()
const today = Math.floor(now / DAY) * DAY
const from = today - (DAYS - 1) * DAY
const timeOf = index => from + Math.floor((index / ROWS) * (now - from))

/** Queries by the page of the console that sends them. */
function questions(store, some) {
  const all = { key: undefined, model: undefined, limit: 1000, to: now + DAY }
  const page = {
    key: undefined,
    model: undefined,
    target: undefined,
    end_user: undefined,
    session: undefined,
    failed: false,
    before: undefined,
  }
  const list = more => () => listExchanges(store, { ...page, from, to: now + 60_000, limit: 100, ...more })
  const sums =
    (by, days, more = {}) =>
    () =>
      usage(store, { ...all, by, from: today - (days - 1) * DAY, ...more })
  return {
    'overview: today by hour': sums(['hour'], 1),
    'overview: today by model': sums(['model'], 1),
    'overview: today by key': sums(['key'], 1),
    'overview: today by team': sums(['team'], 1),
    'usage: 30 days by day and model': sums(['day', 'model'], 30),
    'usage: 30 days by day and key': sums(['day', 'key'], 30),
    'usage: 30 days by key and model': sums(['key', 'model'], 30),
    'usage: 30 days by group and target': sums(['group', 'target'], 30),
    'usage: 30 days by day and team': sums(['day', 'team'], 30),
    'usage: 30 days by team and model': sums(['team', 'model'], 30),
    'usage: 30 days by end user': sums(['end_user'], 30),
    'usage: 30 days by route': sums(['route'], 30),
    'usage: 30 days by key and team': sums(['key', 'team'], 30),
    'usage: 30 days by key and target': sums(['key', 'target'], 30),
    'usage: 30 days by key and route': sums(['key', 'route'], 30),
    'usage: 30 days by target and route': sums(['target', 'route'], 30),
    'usage: 30 days by tags and model': sums(['tags', 'model'], 30),
    'usage: 30 days by region and model': sums(['region', 'model'], 30),
    'usage: 30 days by day and end user': sums(['day', 'end_user'], 30),
    'usage: 7 days by hour': sums(['hour'], 7),
    'usage: 7 days by hour and model': sums(['hour', 'model'], 7),
    'usage: 7 days by end user': sums(['end_user'], 7),
    'usage: 30 days of a key by day': sums(['day'], 30, { key: some.key }),
    'usage: 30 days of a model by key': sums(['key'], 30, { model: some.model }),
    'usage: 30 days of a team by key, model': sums(['key', 'model'], 30, { of: { teams: [some.team] } }),
    'exchanges: newest': list({}),
    'exchanges: of a key': list({ key: some.key }),
    'exchanges: of a model': list({ model: some.model }),
    'exchanges: of a target': list({ target: some.target }),
    'exchanges: of an end user': list({ end_user: 'user-45' }),
    'exchanges: failed': list({ failed: true }),
    'exchanges: failed of a key': list({ failed: true, key: some.key }),
    'exchanges: a page from the middle': list({ before: some.id }),
    'exchanges: one, by its id': () => showExchange(store, some.id),
    'budgets: all': () => listAccounts(store, { after: undefined, limit: 100 }),
  }
}

/** Microseconds of this process since a moment. */
function spent(since) {
  const { user, system } = process.cpuUsage(since)
  return user + system
}

/** Removes the oldest day, and runs a small query repeatedly meanwhile. */
async function dropDay(store) {
  const start = performance.now()
  let isOver = false
  const dropped = store.periods.drop('ledger', from + DAY).then(() => {
    isOver = true
  })
  let longest = 0
  while (!isOver) {
    const asked = performance.now()
    // SQLite answers without a turn of the event loop, which the removal waits for.
    await turn()
    await store.db.selectFrom('instance').select('id').limit(1).execute()
    longest = Math.max(longest, performance.now() - asked)
  }
  await dropped
  const took = performance.now() - start
  console.log(`  a day of rows removed in ${took.toFixed(0)} ms; a query meanwhile waited for ${longest.toFixed(0)} ms at most`)
}

async function measure(name, at, sizeOf) {
  const store = await openStore({ at, mayMigrate: true })
  const began = performance.now()
  const before = process.cpuUsage()
  let making = 0
  let some
  for (let index = 0; index < ROWS; index += AT_ONCE) {
    const start = process.cpuUsage()
    const records = Array.from({ length: Math.min(AT_ONCE, ROWS - index) }, (_, more) => record(index + more, timeOf(index + more)))
    making += spent(start)
    if (index <= ROWS / 2) some = records[0]
    await writeEntries(store, await rowsOf(records, store, recordedPrice), 0, [])
  }
  const seconds = (performance.now() - began) / 1000
  const speed = Math.round(ROWS / seconds)
  const load = loadavg()[0].toFixed(1)
  const cpu = ((spent(before) - making) / ROWS).toFixed(1)
  console.log(
    `${name}: ${ROWS} rows in ${seconds.toFixed(0)} s, ${speed} rows/s (goal ${ROWS_A_SECOND}), ${cpu} µs CPU a row, ${((await sizeOf(store)) / ROWS).toFixed(0)} bytes a row, load average ${load}`,
  )
  const counts = []
  for (const table of Object.keys(ROLLUPS)) {
    const { n } = await store.db
      .selectFrom(table)
      .select(expression => expression.fn.countAll().as('n'))
      .executeTakeFirst()
    counts.push(`${table} ${n}`)
  }
  console.log(`  rows of rollups: ${counts.join(', ')}`)
  for (const [question, ask] of Object.entries(questions(store, some))) {
    const took = []
    const start = process.cpuUsage()
    for (let time = 0; time < TIMES; time++) {
      const start = performance.now()
      await ask()
      took.push(performance.now() - start)
    }
    const used = spent(start) / TIMES / 1000
    took.sort((left, right) => left - right)
    const p95 = took[Math.min(took.length - 1, Math.ceil(took.length * 0.95) - 1)]
    console.log(
      `  ${question.padEnd(38)} p50 ${took[Math.floor(took.length / 2)].toFixed(0).padStart(5)} ms  p95 ${p95.toFixed(0).padStart(5)} ms  CPU ${used.toFixed(0).padStart(5)} ms${p95 > GOAL ? `  over ${GOAL} ms` : ''}`,
    )
  }
  await dropDay(store)
  console.log(`  load average ${loadavg()[0].toFixed(1)}`)
  await store.close()
}

if (values.engine !== 'postgres') {
  const folder = mkdtempSync(join(values.folder, 'sluice-size-'))
  const path = join(folder, 'store.sqlite')
  try {
    await measure('SQLite', path, () => statSync(path).size)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
if (values.engine !== 'sqlite') {
  if (hasPostgres) {
    const postgres = await startPostgres()
    try {
      const at = await postgres.database()
      await measure('Postgres', at, async ({ db }) => {
        const { sql } = await import('kysely')
        const { rows } = await sql`select pg_database_size(current_database()) as size`.execute(db)
        return Number(rows[0].size)
      })
    } finally {
      await postgres.close()
    }
  } else console.log('Postgres: its binaries were not found')
}
