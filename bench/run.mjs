/**
 * The benchmark: the gateway beside a bare relay, nginx and a peer, in front of one upstream, on loopback.
 *
 *   npm run bench                     everything
 *   npm run bench -- --quick          shorter and rougher
 *   npm run bench -- --only stream    workloads whose name begins with this (may be repeated)
 *   npm run bench -- --seconds 5      the length of one measurement
 *   npm run bench -- --with litellm   LiteLLM's proxy, too (from PyPI, into bench/.litellm; needs python3)
 *   npm run bench -- --against DIR    an earlier, built checkout, too, in place of the other gateways
 *   npm run bench -- --list           the workloads
 *
 * A run of everything writes RESULTS.md, results.svg and results.json; a part of it or a quick run writes to out/.
 *
 * @typedef {{ who: string, label: string, skipped?: string, note?: string, events?: number, samples: Record<string, number[]> }} Row
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { before, contenders, upstream } from './contenders.mjs'
import { install, NOT_ASKED, versions } from './install.mjs'
import { machine } from './machine.mjs'
import { plot } from './plot.mjs'
import { cores, pinSelf } from './processes.mjs'
import { markdown, terminal } from './report.mjs'
import { workloads } from './workloads.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    seconds: { type: 'string' },
    with: { type: 'string', multiple: true, default: [] },
    against: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})

const MORE = ['litellm']
for (const name of options.with) if (!MORE.includes(name)) throw new Error(`--with: one of ${MORE.join(', ')}`)

const chosen = workloads.filter(({ name }) => !options.only || options.only.some(start => name.startsWith(start)))
if (options.list || chosen.length === 0) {
  console.log(workloads.map(({ name, title }) => `${name.padEnd(28)} ${title}`).join('\n'))
  process.exit(chosen.length === 0 ? 1 : 0)
}
const seconds = Number(options.seconds ?? (options.quick ? 1 : 3))
if (!(seconds >= 1 && seconds <= 60)) throw new Error('--seconds: between 1 and 60')

const say = line => console.error(`· ${line}`)
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

if (options.against) contenders.before = before(options.against)

const where = machine()
const absent = install(say, options.with)
if (absent.wrk) throw new Error(`wrk is needed for the load: ${absent.wrk}`)
pinSelf()
if (!cores) say('processes are not pinned (one core, or no taskset): gateway and load share what there is')

const started = new Map()
const model = await upstream()

const bench = {
  upstream: model.url,
  workloads,
  folder,
  absent,
  seconds,
  rounds: options.quick ? 2 : 5,
  /** At most so many seconds. */
  warmUp: options.quick ? 8 : 20,
  pacedSeconds: options.quick ? 2 : 5,
  pacedRounds: options.quick ? 1 : 3,
  coldStarts: options.quick ? 3 : 9,
  rest: options.quick ? 2 : 10,
  /** A process that all workloads share, started on first use. */
  running(who) {
    const [name] = who.split(' ')
    if (!started.has(name)) started.set(name, bench.fresh(name))
    return started.get(name)
  },
  /** A new process. @returns {Promise<import('./contenders.mjs').Running>} */
  async fresh(who) {
    return contenders[who.split(' ')[0]].start(bench)
  },
}

const missing = Object.values(contenders).flatMap(contender =>
  contender.missing(bench) && contender.missing(bench) !== NOT_ASKED ? [`${contender.title}: ${contender.missing(bench)}`] : [],
)
for (const line of missing) say(`not measured: ${line}`)

/** The upstream, the floor and the gateway, and behind each of the gateway's own the same of the earlier checkout. */
function withBefore(all) {
  return all.flatMap(name => {
    const [first, same] = name.split(' ')
    if (first === 'sluice') return [name, same ? `before ${same}` : 'before']
    return ['floor', 'direct'].includes(first) ? [name] : []
  })
}

const results = []
for (const workload of chosen) {
  say(workload.title)
  const asked = options.with.filter(name => contenders[name].takes(workload))
  const measured = options.against ? withBefore(workload.who) : workload.who
  const who = [...measured, ...asked].filter(name => !contenders[name.split(' ')[0]].missing(bench))
  const rows = await workload.run({ ...workload, who }, bench)
  results.push({
    name: workload.name,
    title: workload.title,
    client: workload.client,
    upstream: workload.upstream,
    promptBytes: workload.bytes,
    concurrency: workload.concurrency,
    rows,
  })
  console.log(terminal(results.at(-1)))
}
for (const running of started.values())
  await running.then(
    ({ stop }) => stop(),
    () => {},
  )
await model.stop()

const report = {
  machine: where,
  versions: versions(options.with),
  method: { seconds, rounds: bench.rounds, pacedSeconds: bench.pacedSeconds, pacedRounds: bench.pacedRounds, pinned: Boolean(cores) },
  missing,
  workloads: results,
}
const whole = !options.only && !options.quick && !options.against && options.with.length === 0
const out = fileURLToPath(new URL(whole ? '.' : 'out/', import.meta.url))
mkdirSync(out, { recursive: true })
writeFileSync(join(out, 'RESULTS.md'), markdown(report))
writeFileSync(join(out, 'results.svg'), plot(report))
writeFileSync(join(out, 'results.json'), `${JSON.stringify(report, null, 1)}\n`)
say(`written: bench/${whole ? '' : 'out/'}RESULTS.md, results.svg, results.json`)
