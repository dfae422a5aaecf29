/** Tables: for the terminal while it runs, and for RESULTS.md. */
import { columns } from '../dist/cli/table.js'
import { LONGEST_TURN, TURN } from './latency.mjs'
import { ratios, spread } from './stats.mjs'
import { targets } from './workloads.mjs'

/** The labels of the measures, in the order of the columns. */
const MEASURES = {
  cpu: 'CPU µs a request',
  cpuEvent: 'CPU µs an event',
  cpuFrame: 'CPU µs a frame',
  rps: 'requests/s',
  eventRate: 'events/s',
  eventsPerCore: 'events/s a core',
  frameRate: 'frames/s',
  core: '% of a core',
  p50: 'p50 ms',
  p99: 'p99 ms',
  first50: 'first byte p50 ms',
  first99: 'first byte p99 ms',
  total50: 'total p50 ms',
  total99: 'total p99 ms',
  addedFirst50: 'added to first byte p50 ms',
  addedFirst99: '… p99 ms',
  addedTotal50: 'added in total p50 ms',
  addedTotal99: '… p99 ms',
  streams: 'streams',
  failed: 'failed',
  lost: 'lost events',
  gap50: 'gap p50 ms',
  gap999: 'gap p99.9 ms',
  gapMax: 'largest gap ms',
  memory: 'KB a stream',
  start: 'ms',
  idle: 'idle MiB',
  loaded: 'loaded MiB',
  recovered: 'recovered MiB',
}

/** Three figures are the precision of the measurements. */
function number(n) {
  if (!Number.isFinite(n)) return '–'
  if (Math.abs(n) >= 100 || Number.isInteger(n)) return Math.round(n).toLocaleString('en-US')
  return n
    .toPrecision(3)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
}

const known = values => values?.length > 0 && values.every(Number.isFinite)

/** Measures that follow from others. */
export function samplesOf({ samples, events }) {
  if (!(events > 0) || !known(samples.cpu)) return samples
  return { ...samples, eventsPerCore: samples.cpu.map(cpu => (events / cpu) * 1e6) }
}

/** The CPU measure of a workload that is compared with the floor's. */
const COMPARED = ['cpu', 'cpuEvent', 'cpuFrame']

/** @returns {{ head: string[], rows: string[][], notes: string[] }} */
function table({ rows }) {
  const measured = rows.filter(({ skipped }) => !skipped).map(row => ({ ...row, samples: samplesOf(row) }))
  const names = Object.keys(MEASURES).filter(name => measured.some(({ samples }) => known(samples[name])))
  const compared = COMPARED.find(name => names.includes(name))
  const floor = measured.find(({ who }) => who === 'floor')
  const versus = compared && floor
  return {
    head: ['', ...names.map(name => MEASURES[name]), ...(versus ? ['× the floor'] : [])],
    rows: measured.map(({ label, samples }) => [
      label,
      ...names.map(name => (known(samples[name]) ? written(spread(samples[name])) : '–')),
      ...(versus ? [known(samples[compared]) ? written(ratios(samples[compared], floor.samples[compared])) : '–'] : []),
    ]),
    notes: rows.flatMap(({ label, skipped, note }) =>
      skipped ? [`${label}: not measured: ${skipped.split('\n')[0]}`] : note ? [`${label}: ${note.split('\n')[0]}`] : [],
    ),
  }
}

/** The median, and the spread of the rounds. */
const written = ({ median, min, max }) =>
  number(min) === number(max) ? number(median) : `${number(median)} (${number(min)}–${number(max)})`

export function terminal(workload) {
  const { head, rows, notes } = table(workload)
  const right = head.map((_, column) => column > 0)
  const lines = rows.length === 0 ? [] : columns([head, ...rows], right).split('\n')
  return [`\n${workload.title}  [${workload.name}]`, ...lines, ...notes].map(line => `  ${line}`.trimEnd()).join('\n')
}

// ---- targets ---------------------------------------------------------------------------------------------------------

/** @returns {{ title: string, wanted: string, measured: string, verdict: string }} */
function judge(target, workloads) {
  const rows = workloads.find(({ name }) => name === target.workload)?.rows ?? []
  const samples = who => samplesOf(rows.find(row => row.who === who && !row.skipped) ?? { samples: {} })[target.metric]
  const wanted = `${target.most !== undefined ? `≤ ${number(target.most)}` : `≥ ${number(target.least)}`} ${target.unit}`.trim()
  const values = samples(target.who)
  const others = target.to && samples(target.to)
  if (!known(values) || (target.to && !known(others))) return { title: target.title, wanted, measured: '–', verdict: 'not measured' }
  const found = target.to ? ratios(values, others) : spread(values)
  const within = ({ median }) => (target.most !== undefined ? median <= target.most : median >= target.least)
  const alone = target.alone && known(samples(target.alone)) ? spread(samples(target.alone)) : undefined
  const verdict = within(found)
    ? 'met'
    : alone && !within(alone)
      ? `not judged: ${number(alone.median)} ${target.unit} without a gateway`
      : 'missed'
  return { title: target.title, wanted, measured: `${written(found)} ${target.unit}`.trim(), verdict }
}

// ---- RESULTS.md --------------------------------------------------------------------------------------------------------

const row = cells => `| ${cells.join(' | ')} |`
const grid = (head, rows) => [row(head), row(head.map((_, i) => (i ? '--:' : ':--'))), ...rows.map(row)].join('\n')

export function markdown({ machine, versions, method, missing, workloads }) {
  const judged = targets.map(target => judge(target, workloads)).filter(({ verdict }) => workloads.length > 3 || verdict !== 'not measured')
  return `${[
    '# Benchmark',
    'Written by `npm run bench`. All numbers are from one run: compare within a table, not between machines.',
    '![CPU per request, as a multiple of the floor](results.svg)',
    ...(judged.length === 0
      ? []
      : [
          '## Targets',
          grid(
            ['', 'target', 'measured', ''],
            judged.map(({ title, wanted, measured, verdict }) => [title, wanted, measured, verdict === 'missed' ? '**missed**' : verdict]),
          ),
        ]),
    '## Who is measured',
    [
      '- **Sluice**: `sluice start`, keys checked, requests validated, usage counted.',
      '- **floor**: `floor.mjs`, a bare relay of uWebSockets.js and undici that checks nothing.',
      '- **nginx**: a reverse proxy with one worker, connections kept alive on both sides.',
      '- **Portkey**: `@portkey-ai/gateway`, a gateway in TypeScript, started as its own server.',
      ...(versions.litellm
        ? ["- **LiteLLM**: its proxy in Python, in its documentation's settings for production: one worker, no debug log."]
        : []),
      '- **direct**: the load on the upstream itself.',
      "- *(dialect)* behind a name: this one gets the upstream's own dialect, while the others translate.",
      ...missing.map(line => `- *Not measured this time: ${line}*`),
    ].join('\n'),
    '## How',
    [
      `- CPU is user + system time of the measured process and its children, from the operating system, divided by what it served.`,
      `- The contenders take turns: ${method.rounds} rounds of ${method.seconds} s each after a warm-up. Shown is the median, with the least and the greatest; a ratio is formed within each round. Paced streams run ${method.pacedRounds} times for ${method.pacedSeconds} s, each time in a new process; one at a time, the contenders take turns of ${TURN} requests, or of ${LONGEST_TURN} ms where these take longer, after the same warm-up.`,
      `- ${method.pinned ? 'The measured process has one core; load and upstream have the rest.' : 'Processes were not pinned to cores.'} Load comes from wrk, in a closed loop; \`% of a core\` tells whether the contender or the load was the limit.`,
      '- Before each measurement an answer is read in full (dialect, text, number of events, proven end); during it more are; and the mean length of all answers is held against the proven one.',
    ].join('\n'),
    '## Machine',
    `${machine.cpu}, ${machine.cores} cores, ${machine.memory}; ${machine.system}; load average before the run ${machine.load}. ${Object.entries(
      versions,
    )
      .map(([name, version]) => `${name} ${version.replace(/^v/, '')}`)
      .join(', ')}.`,
    '## Workloads',
    ...workloads.map(workload => {
      const { head, rows, notes } = table(workload)
      return [`### ${workload.title}`, ...(rows.length > 0 ? [grid(head, rows)] : []), ...notes.map(note => `*${note}*`)].join('\n\n')
    }),
  ].join('\n\n')}\n`
}
