// Measures the cost of accounting in a worker: `npm run bench:accounting`. Two gateways, both with an access log, are called in
// turn: one with a store, a key of it, three budgets, two limits and the ledger, the other with none of that. The ratio of each
// pair is the CPU time that their workers took for the same requests. `--against FOLDER` starts the other from an earlier, built
// checkout; `--pairs 30` and `--requests 1500` set how much is measured.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startSimulator } from '../dist/cli/simulator/server.js'
import { startGateway } from '../tools/gateway.mjs'

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    pairs: { type: 'string', default: '30' },
    requests: { type: 'string', default: '1500' },
  },
})
const PAIRS = Number(values.pairs)
const REQUESTS = Number(values.requests)
const WIDTH = 32
const KEY = 'key-of-the-file'

const simulator = await startSimulator({})
const root = mkdtempSync(join(tmpdir(), 'sluice-a-'))
const sha256 = createHash('sha256').update(KEY).digest('hex')
const start = (name, more, program) =>
  startGateway(
    join(root, name),
    {
      log: { access: true },
      keys: [{ name: 'file', sha256 }],
      upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
      models: { sim: { targets: [{ upstream: 'up' }] } },
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

const agent = new Agent({ keepAlive: true, maxSockets: WIDTH })
const body = JSON.stringify({ model: 'sim', user: 'u1', messages: [{ role: 'user', content: 'Hello. '.repeat(100) }] })

function ask(url, key) {
  return new Promise((done, fail) => {
    const asked = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
    })
    asked.on('response', response => {
      if (response.statusCode !== 200) fail(new Error(`status ${response.statusCode}`))
      response.resume().on('end', done)
    })
    asked.on('error', fail)
    asked.end(body)
  })
}

async function round(gateway, key) {
  const before = cpuOf(gateway.child.pid)
  let left = REQUESTS
  await Promise.all(
    Array.from({ length: WIDTH }, async () => {
      while (left-- > 0) await ask(gateway.url, key)
    }),
  )
  // Records leave a little later, and are part of the cost.
  await sleep(40)
  return (cpuOf(gateway.child.pid) - before) / REQUESTS
}

const on = await start('on', {
  models: { sim: { targets: [{ upstream: 'up' }], price: { input: 1, output: 5 } } },
  store: 'sqlite',
  key_limits: { requests: '100000000/1m', in_flight: 10_000 },
  budgets: { all: '1000000/month', key: '100000/day', teams: { red: '100000/month' } },
})
const off = await start('off', {}, values.against && join(resolve(values.against), 'dist/cli/main.js'))
const made = await on.admin('/keys', { name: 'bench', team: 'red', tags: ['bench'] })
const [control] = on.pids('control/main.js')
for (let warm = 0; warm < 3; warm++)
  for (const [gateway, key] of [
    [on, made.secret],
    [off, KEY],
  ])
    await round(gateway, key)
const controlBefore = cpuOf(control)
const [ratios, costs] = [[], [[], []]]
for (let pair = 0; pair < PAIRS; pair++) {
  const order = pair % 2 === 0 ? [on, off] : [off, on]
  const took = new Map()
  for (const gateway of order) took.set(gateway, await round(gateway, gateway === on ? made.secret : KEY))
  ratios.push(took.get(on) / took.get(off))
  costs[0].push(took.get(on))
  costs[1].push(took.get(off))
}
const perRecord = (cpuOf(control) - controlBefore) / (PAIRS * REQUESTS)
const at = (list, share) => [...list].sort((left, right) => left - right)[Math.min(list.length - 1, Math.floor(list.length * share))]
console.log(
  `${PAIRS} pairs of ${REQUESTS}: CPU of the worker with accounting to that without: median ${at(ratios, 0.5).toFixed(3)}, 5 % ${at(ratios, 0.05).toFixed(3)}, 95 % ${at(ratios, 0.95).toFixed(3)}; ` +
    `${at(costs[0], 0.5).toFixed(1)} and ${at(costs[1], 0.5).toFixed(1)} µs a request; control process ${perRecord.toFixed(1)} µs a record`,
)
agent.destroy()
await Promise.all([on.stop(), off.stop()])
await simulator.close()
rmSync(root, { recursive: true, force: true })
