// Measures which exchanges have rows after processes were killed: `npm run ledger:crash`. 20 times `kill -9` of a worker, of the control process,
// and of both, at 2,000 requests a second with streams in parallel; then rows are compared with answers. `--times 20`, `--rate 2000`,
// `--engine sqlite|postgres`. Exits with 1 if more is lost than docs/control.md allows, a row exists twice, or sums differ.

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startSimulator } from '../dist/cli/simulator/server.js'
import { startGateway } from './gateway.mjs'
import { startPostgres } from './postgres.mjs'

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '20' },
    rate: { type: 'string', default: '2000' },
    engine: { type: 'string', default: 'sqlite' },
  },
})
const TIMES = Number(values.times)
const RATE = Number(values.rate)
const WIDTH = 64
const STREAMS = 20
const STREAM_MODEL = 'sim-200-20ms'
const KEY = 'key-of-the-file'
const WORKERS = 2
/** Milliseconds: until a worker sends a record, until it is committed if both are killed, and until a stream is in the store. */
const HANDED_OVER = 20
const COMMITTED = 120
const OPEN = 2_000
/** Milliseconds from a worker's answer to its being read here, beside the delay of this process's own event loop. */
const ON_THE_WAY = 50

const simulator = await startSimulator({})
const root = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
const postgres = values.engine === 'postgres' ? await startPostgres() : undefined
const price = { input: 1, output: 5 }
const gateway = await startGateway(root, {
  store: postgres ? await postgres.database() : 'sqlite',
  workers: WORKERS,
  keys: [{ name: 'all', value: KEY, budget: '1000/ever' }],
  upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
  models: Object.fromEntries(['sim', STREAM_MODEL].map(name => [name, { targets: [{ upstream: 'up' }], price }])),
})
const agent = new Agent({ keepAlive: true, maxSockets: WIDTH })
const streaming = new Agent({ keepAlive: false })

/** Sends one request; returns the id of a whole answer, or nothing. */
function once(model, stream, onHead) {
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Say something.' }] })
  return new Promise(done => {
    const asked = request(
      `${gateway.url}/v1/chat/completions`,
      {
        agent: stream ? streaming : agent,
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      response => {
        const id = response.headers['x-request-id']
        if (response.statusCode === 200) onHead?.(id)
        response.on('error', () => done(undefined))
        response.on('close', () => done(response.complete && response.statusCode === 200 ? id : undefined))
        response.resume()
      },
    )
    asked.on('error', () => done(undefined))
    asked.end(body)
  })
}

const loop = monitorEventLoopDelay({ resolution: 5 })
loop.enable()
/** When each answer arrived, by its id; milliseconds of `performance`. */
const answered = new Map()
/** The start of each stream under way. */
const underWay = new Map()
let isStopping = false
let asked = 0
const began = performance.now()

const askers = Array.from({ length: WIDTH }, async () => {
  while (!isStopping) {
    const due = began + (asked++ / RATE) * 1000
    const wait = due - performance.now()
    if (wait > 0) await sleep(wait)
    const id = await once('sim', false)
    if (id !== undefined) answered.set(id, performance.now())
    else await sleep(20)
  }
})
const streams = Array.from({ length: STREAMS }, async () => {
  while (!isStopping) {
    let mine
    const id = await once(STREAM_MODEL, true, head => {
      mine = head
      underWay.set(head, performance.now())
    })
    underWay.delete(mine)
    if (id !== undefined) answered.set(id, performance.now())
    else await sleep(20)
  }
})

const isThere = async () =>
  gateway.pids('--worker').length === WORKERS &&
  gateway.pids('control/main.js').length === 1 &&
  (await gateway.admin('/whoami').then(
    () => true,
    () => false,
  ))

const kills = []
/** Streams that had been under way for a long time when a process was killed. */
const old = new Set()
for (let time = 0; time < TIMES; time++) {
  const before = answered.size
  while (answered.size < before + RATE) await sleep(5)
  const kind = ['worker', 'control process', 'both'][time % 3]
  const pids = [
    ...(kind === 'control process' ? [] : [gateway.pids('--worker')[0]]),
    ...(kind === 'worker' ? [] : gateway.pids('control/main.js')),
  ]
  const at = performance.now()
  for (const [id, start] of underWay) if (at - start > OPEN) old.add(id)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  kills.push({ kind, at })
  while (!(await isThere())) await sleep(20)
}
isStopping = true
const seconds = (performance.now() - began) / 1000
await Promise.all([...askers, ...streams])

let found
// A new control process waits ten seconds for the workers of the one before, until it writes what they had under way as lost.
for (let [last, same] = [-1, 0]; same < 4; ) {
  found = await gateway.admin('/ledger/verify')
  same = found.rows === last && Object.keys(found.differences).length === 0 ? same + 1 : 0
  last = found.rows
  await sleep(4_000)
}
const rows = (await gateway.admin('/ledger/export?format=ndjson'))
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line))
const ids = new Set(rows.map(row => row.id))
const lost = [...answered].filter(([id]) => !ids.has(id))
/** The longest delay between a worker's last answer and its being read here: milliseconds. */
const late = loop.max / 1e6 + ON_THE_WAY
/** The time between the arrival of a lost answer and the kill: milliseconds. It may have been read after the kill, but by no more than the delay above. */
const ageOf = at => Math.min(...kills.map(kill => (kill.at >= at ? kill.at - at : at - kill.at < late ? 0 : Number.POSITIVE_INFINITY)))
const oldest = Math.max(0, ...lost.map(([, at]) => ageOf(at)))
const missing = [...old].filter(id => !ids.has(id))
const twice = rows.length - ids.size
const ofKinds = ['worker', 'control process', 'both']
  .map(kind => `${kills.filter(kill => kill.kind === kind).length} of ${kind}`)
  .join(', ')
console.log(
  `${values.engine}: ${TIMES} times kill -9 (${ofKinds}) at ${(answered.size / seconds).toFixed(0)} answers/s, answers read at most ${late.toFixed(0)} ms late, load average ${loadavg()[0].toFixed(1)}`,
)
console.log(
  `  ${answered.size} answers, ${rows.length} rows, ${twice} twice, ${rows.filter(row => row.ended === 'lost').length} marked as lost`,
)
console.log(
  `  ${lost.length} answers without a row; the oldest had arrived ${oldest.toFixed(0)} ms before the kill (a worker sends records after ${HANDED_OVER} ms, killing both may lose ${COMMITTED} ms)`,
)
console.log(`  ${old.size} streams were older than ${OPEN / 1000} s when a process was killed, ${missing.length} of them without a row`)
console.log(`  rollups = sums of rows = spent: ${Object.keys(found.differences).length === 0 ? 'yes' : JSON.stringify(found.differences)}`)
const holds = twice === 0 && missing.length === 0 && oldest <= COMMITTED
console.log(holds ? '  holds' : '  BROKEN')
await gateway.stop()
await simulator.close()
await postgres?.close()
rmSync(root, { recursive: true, force: true })
process.exit(holds ? 0 : 1)
