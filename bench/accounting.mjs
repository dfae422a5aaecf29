// Measures the cost of accounting in a worker: `npm run bench:accounting`. Two gateways, both with an access log, are called at
// the same time and share a core, so that both meet the same noise: one with a store, a key of it, three budgets, two limits and
// the ledger, the other with none of that. The ratio of each pair is the CPU time that their workers took for a request: JSON
// and a stream, in the provider's dialect and translated. Two gateways that are configured alike give 0.99 to 1.02.
// `--against FOLDER` starts the other from an earlier, built checkout; `--pairs 30` and `--seconds 1` set how much is measured,
// and `--only stream` what.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { programIn, startGateway } from '../tools/gateway.mjs'
import { upstream } from './contenders.mjs'
import { install } from './install.mjs'
import { cores, pin, pinSelf } from './processes.mjs'
import { load } from './throughput.mjs'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    only: { type: 'string', default: '' },
    pairs: { type: 'string', default: '30' },
    seconds: { type: 'string', default: '1' },
  },
})
const PAIRS = Number(values.pairs)
const SECONDS = Number(values.seconds)
const KEY = 'key-of-the-file'

const messages = [{ role: 'user', content: 'Hello. '.repeat(100) }]
const WORKLOADS = [
  { name: 'JSON', path: '/v1/chat/completions', body: { model: 'bench-json', user: 'u1', messages } },
  {
    name: 'JSON, translated',
    path: '/v1/messages',
    body: { model: 'bench-json', max_tokens: 1_000, metadata: { user_id: 'u1' }, messages },
  },
  { name: 'stream', path: '/v1/chat/completions', body: { model: 'bench-stream', user: 'u1', stream: true, messages } },
  {
    name: 'stream, translated',
    path: '/v1/messages',
    body: { model: 'bench-stream', max_tokens: 1_000, stream: true, metadata: { user_id: 'u1' }, messages },
  },
].filter(({ name }) => name.includes(values.only))
const MODELS = ['bench-json', 'bench-stream']

// The load, the upstream and the control process have the other cores: what they take would be counted as the worker's, whose
// caches they empty.
pinSelf()
const { wrk } = install(line => console.error(`· ${line}`))
if (wrk) throw new Error(`wrk is needed for the load: ${wrk}`)
const provider = await upstream()
const root = mkdtempSync(join(tmpdir(), 'sluice-a-'))
const sha256 = createHash('sha256').update(KEY).digest('hex')
const modelsWith = more => Object.fromEntries(MODELS.map(model => [model, { targets: [{ upstream: 'up' }], ...more }]))
const start = (name, more, program) =>
  startGateway(
    join(root, name),
    {
      log: { access: true },
      keys: [{ name: 'file', sha256 }],
      upstreams: { up: { provider: 'openai', base: provider.url, secret: 'none' } },
      models: modelsWith({}),
      ...more,
    },
    program,
  )

/** Microseconds of all threads; finer than ticks, if the system has it. */
function cpuOf(pid) {
  let nanoseconds = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
    } catch {
      // The thread has ended.
    }
  }
  return nanoseconds / 1000
}

const call = ({ url }, key, { name, path, body }) => ({
  url,
  path,
  dialect: `${name}-${key}`.replaceAll(/\W+/g, '-'),
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

async function round(gateway, workload) {
  const key = gateway === on ? made.secret : KEY
  const before = cpuOf(gateway.child.pid)
  const { requests } = await load(call(gateway, key, workload), { name: 'accounting', concurrency: 32 }, { folder: root }, SECONDS)
  // Records leave a little later, and are part of the cost.
  await sleep(40)
  return { requests, cost: (cpuOf(gateway.child.pid) - before) / requests }
}

const on = await start('on', {
  models: modelsWith({ price: { input: 1, output: 5 } }),
  store: 'sqlite',
  key_limits: { requests: '100000000/1m', in_flight: 10_000 },
  budgets: { all: '1000000/month', key: '100000/day', teams: { red: '100000/month' } },
})
const off = await start('off', {}, values.against && programIn(resolve(values.against)))
const made = await on.admin('/keys', { name: 'bench', team: 'red', tags: ['bench'] })
const [control] = on.pids('control/main.js')
if (cores) for (const { child } of [on, off]) pin(child.pid, cores.measured)
else console.log('processes are not pinned (one core, or no taskset)')
const at = (list, share) => [...list].sort((left, right) => left - right)[Math.min(list.length - 1, Math.floor(list.length * share))]

for (const workload of WORKLOADS) {
  for (let warm = 0; warm < 3; warm++) await Promise.all([on, off].map(gateway => round(gateway, workload)))
  let records = 0
  const before = cpuOf(control)
  const [ratios, costs] = [[], [[], []]]
  for (let pair = 0; pair < PAIRS; pair++) {
    const took = new Map()
    await Promise.all(
      [on, off].map(async gateway => {
        const { requests, cost } = await round(gateway, workload)
        took.set(gateway, cost)
        if (gateway === on) records += requests
      }),
    )
    ratios.push(took.get(on) / took.get(off))
    costs[0].push(took.get(on))
    costs[1].push(took.get(off))
  }
  const perRecord = (cpuOf(control) - before) / records
  console.log(
    `${workload.name}: ${PAIRS} pairs of ${SECONDS} s: CPU of the worker with accounting to that without: median ${at(ratios, 0.5).toFixed(3)}, 5 % ${at(ratios, 0.05).toFixed(3)}, 95 % ${at(ratios, 0.95).toFixed(3)}; ` +
      `${at(costs[0], 0.5).toFixed(1)} and ${at(costs[1], 0.5).toFixed(1)} µs a request; control process ${perRecord.toFixed(1)} µs a record`,
  )
}
await Promise.all([on.stop(), off.stop()])
await provider.stop()
rmSync(root, { recursive: true, force: true })
