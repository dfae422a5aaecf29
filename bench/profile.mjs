/**
 * Profiles the CPU time of one workload: its functions and files by their own time.
 *
 *   npm run bench:profile                        JSON, chat, 1 KB
 *   npm run bench:profile -- --workload stream   another (see `npm run bench -- --list`; those that wrk loads)
 *   npm run bench:profile -- --who floor         the bare relay instead of the gateway
 *
 * The profile itself stays in bench/out/ and opens in a browser's developer tools.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { contenders, unbundled, upstream } from './contenders.mjs'
import { exchange, label, prove } from './exchange.mjs'
import { install } from './install.mjs'
import { cpu, pinSelf } from './processes.mjs'
import { load, throughput } from './throughput.mjs'
import { workloads } from './workloads.mjs'

const { values: options } = parseArgs({
  options: {
    workload: { type: 'string', default: 'json-1k' },
    who: { type: 'string', default: 'sluice' },
    seconds: { type: 'string', default: '5' },
    top: { type: 'string', default: '30' },
  },
})
const workload = workloads.find(({ name, run }) => name === options.workload && run === throughput)
if (!workload)
  throw new Error(
    `--workload: one of ${workloads
      .filter(({ run }) => run === throughput)
      .map(({ name }) => name)
      .join(', ')}`,
  )
if (!['sluice', 'floor'].includes(options.who)) throw new Error('--who: sluice or floor')
const seconds = Math.min(60, Math.max(1, Number(options.seconds)))

const absent = install(line => console.error(`· ${line}`))
if (absent.wrk) throw new Error(absent.wrk)
pinSelf()
const folder = mkdtempSync(join(tmpdir(), 'sluice-profile-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const model = await upstream()
const bench = { upstream: model.url, workloads, folder, absent }
const who = options.who === 'sluice' ? unbundled : contenders[options.who]
const why = who.missing(bench)
if (why) throw new Error(why)
const flags = ['--cpu-prof', '--cpu-prof-interval', '500', '--cpu-prof-dir', folder]
const running = await who.start({ ...bench, flags })
const call = exchange(workload, options.who, running, bench)
await prove(call)
await load(call, workload, bench, 2)
// The profiler's clock is the system's monotonic one, in microseconds: earlier samples are left out.
const from = Number(process.hrtime.bigint() / 1000n)
const before = cpu(running.pids())
const { requests } = await load(call, workload, bench, seconds)
const to = Number(process.hrtime.bigint() / 1000n)
const cost = (cpu(running.pids()) - before) / requests
await running.stop(20)
await model.stop()

const written = readdirSync(folder).filter(name => name.endsWith('.cpuprofile'))
if (written.length === 0) throw new Error('no profile was written: the process must end by itself on SIGTERM')
const out = fileURLToPath(new URL('out/', import.meta.url))
mkdirSync(out, { recursive: true })
const kept = join(out, `${options.who}-${workload.name}.cpuprofile`)
// The main thread's is the largest; workers of the runtime write small ones.
const profile = written
  .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  .sort((a, b) => b.text.length - a.text.length)[0]
writeFileSync(kept, profile.text)

const { total, functions, files } = selfTimes(JSON.parse(profile.text))
console.log(
  `\n${label(workload, options.who)}: ${workload.title}. ${requests} requests, ${cost.toFixed(1)} CPU µs each with the profiler on; idle time left out.`,
)
print('by function', functions)
print('by file', files)
console.log(`\nbench/out/${options.who}-${workload.name}.cpuprofile`)

function print(title, entries) {
  console.log(`\n${title}\n     %   µs/request`)
  for (const [name, micros] of entries.slice(0, Number(options.top))) {
    console.log(`${((micros / total) * 100).toFixed(1).padStart(6)} ${((micros / total) * cost).toFixed(2).padStart(12)}  ${name}`)
  }
}

/** Self time of each function and file in microseconds, most first. The runtime's own entries are in brackets. */
function selfTimes({ nodes, samples, timeDeltas, startTime }) {
  const byId = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const functions = new Map()
  const files = new Map()
  let total = 0
  let now = startTime
  samples.forEach((id, i) => {
    const micros = timeDeltas[i]
    now += micros
    const { functionName, url, lineNumber } = byId.get(id)
    if (functionName === '(idle)' || now < from || now > to) return
    const file = shorten(url)
    total += micros
    add(functions, file ? `${functionName || '(anonymous)'}  ${file}:${lineNumber + 1}` : functionName, micros)
    add(files, file || `[${functionName.startsWith('(') ? functionName.slice(1, -1) : 'native'}]`, micros)
  })
  const sorted = map => [...map].sort(([, a], [, b]) => b - a)
  return { total, functions: sorted(functions), files: sorted(files) }
}

function add(map, key, value) {
  map.set(key, (map.get(key) ?? 0) + value)
}

/** Paths as seen from the repository. */
function shorten(url) {
  const root = new URL('..', import.meta.url).href
  return url.startsWith(root) ? url.slice(root.length) : url
}
