// Measures the cost of accounting in a worker: `npm run bench:accounting`. Two gateways, both with an access log, are called in turn: one with a
// store, a key of it, three budgets, two limits and the ledger, the other with none of that. The ratio of each pair is the CPU
// time that their workers took for the same requests.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSimulator } from '../dist/cli/simulator/server.js'

const PAIRS = Number(process.argv[2] ?? 30)
const REQUESTS = Number(process.argv[3] ?? 1500)
const WIDTH = 32
const KEY = 'key-of-the-file'

const simulator = await startSimulator({})
const root = mkdtempSync(join(tmpdir(), 'sluice-a-'))
const main = new URL('../dist/cli/main.js', import.meta.url).pathname

async function start(name, more) {
  const folder = join(root, name)
  mkdirSync(folder)
  const sha256 = createHash('sha256').update(KEY).digest('hex')
  const file = {
    listen: '127.0.0.1:0',
    keys: [{ name: 'file', sha256, team: 'red', tags: ['bench'] }],
    upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
    models: { sim: { targets: [{ upstream: 'up' }], price: { input: 1, output: 5 } } },
    ...more,
  }
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(file))
  const child = spawn(process.execPath, ['--max-semi-space-size=32', main, 'start', '--config', join(folder, 'gateway.yaml')])
  let text = ''
  // After the start come lines of the access log: they are read and discarded.
  child.stdout.on('data', part => (text.length < 65_536 ? (text += part) : undefined))
  child.stderr.pipe(process.stderr)
  const wanted = more.store ? 'control process is there' : '"listening"'
  while (!text.includes(wanted)) await sleep(20)
  const { url } = JSON.parse(text.split('\n').find(line => line.includes('"listening"')))
  const control = readdirSync('/proc').find(pid => /^\d+$/.test(pid) && stat(pid)?.parent === child.pid)
  return { url, child, pid: child.pid, control }
}

/** The parent of a process, and its processor time in ticks. */
function stat(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    return undefined
  }
}

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
  const before = cpuOf(gateway.pid)
  let left = REQUESTS
  await Promise.all(
    Array.from({ length: WIDTH }, async () => {
      while (left-- > 0) await ask(gateway.url, key)
    }),
  )
  // Records leave a little later, and are part of the cost.
  await sleep(40)
  return (cpuOf(gateway.pid) - before) / REQUESTS
}

const on = await start('on', {
  store: 'sqlite',
  key_limits: { requests: '100000000/1m', in_flight: 10_000 },
  budgets: { all: '1000000/month', key: '100000/day', teams: { red: '100000/month' } },
})
const off = await start('off', {})
const made = await new Promise(done => {
  const asked = request({
    socketPath: join(root, 'on', 'data', 'admin.sock'),
    method: 'POST',
    path: '/admin/v1/keys',
    headers: { 'content-type': 'application/json' },
  })
  asked.on('response', response => {
    let text = ''
    response.on('data', part => (text += part)).on('end', () => done(JSON.parse(text)))
  })
  asked.end(JSON.stringify({ name: 'bench', team: 'red', tags: ['bench'] }))
})
for (let warm = 0; warm < 3; warm++)
  for (const [gateway, key] of [
    [on, made.secret],
    [off, KEY],
  ])
    await round(gateway, key)
const controlBefore = cpuOf(on.control)
const [ratios, costs] = [[], [[], []]]
for (let pair = 0; pair < PAIRS; pair++) {
  const order = pair % 2 === 0 ? [on, off] : [off, on]
  const took = new Map()
  for (const gateway of order) took.set(gateway, await round(gateway, gateway === on ? made.secret : KEY))
  ratios.push(took.get(on) / took.get(off))
  costs[0].push(took.get(on))
  costs[1].push(took.get(off))
}
const control = (cpuOf(on.control) - controlBefore) / (PAIRS * REQUESTS)
const at = (list, share) => [...list].sort((left, right) => left - right)[Math.min(list.length - 1, Math.floor(list.length * share))]
console.log(
  `${PAIRS} pairs of ${REQUESTS}: CPU of the worker with accounting to that without: median ${at(ratios, 0.5).toFixed(3)}, 5 % ${at(ratios, 0.05).toFixed(3)}, 95 % ${at(ratios, 0.95).toFixed(3)}; ` +
    `${at(costs[0], 0.5).toFixed(1)} and ${at(costs[1], 0.5).toFixed(1)} µs a request; control process ${control.toFixed(1)} µs a record`,
)
for (const { child } of [on, off]) child.kill('SIGTERM')
agent.destroy()
await Promise.all([on, off].map(({ child }) => new Promise(done => child.once('exit', done))))
await simulator.close()
rmSync(root, { recursive: true, force: true })
