// Mixed traffic at 60 % of the machine's capacity, with faults, aborts and reloads, on the built command as a separate
// process. Requirements: no answer is lost or mixed up, memory does not grow after the first third, and nothing fails
// unexpectedly.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { dump } from 'js-yaml'
import { PROGRAM } from '../../cli/bundled.js'
import { loadPlan } from '../../cli/plan.js'
import { HOME } from '../../codegen/home.js'
import { type Counts, traffic } from './traffic.js'

export interface SoakOptions {
  /** How long, all in all. */
  minutes: number
  /**
   * Whether enough has happened; until then it goes on, for at most ten times as long. A busy machine takes few requests in a
   * short time.
   */
  isEnough?: (counts: Counts) => boolean
  /** Told what happens. */
  say?: (line: string) => void
}

export interface SoakResult {
  counts: Counts
  /** Requests in a second: what the machine takes, and what it was given. */
  capacity: number
  rate: number
  reloads: number
  /** MiB, the median of each third. */
  rss: [number, number, number]
  /** What did not hold; none where all did. */
  findings: string[]
}

const KEY = 'key-of-the-soak-test'
const SHARE = 0.6
/** How often the time may pass while not enough has happened. */
const MOST_TIMES = 10
const WIDTH = 32
const TICK = 10
/** Milliseconds in which a change of the file takes effect on a machine that is busy. */
const PATIENCE = 180_000
/** More requests than that under way are a gateway that does not keep up. */
const MOST_OPEN = 2_000
/**
 * MiB of one half of the heap's young part, which a busy machine fills only late in a short run: it is kept small, so that its
 * growth (two halves and what waits to be moved) is not taken for a leak.
 */
const YOUNG = 8
/** The same of the old one until it is first collected. */
const OLD = 32
/** What memory may grow by from the second third to the last: a share, and MiB for the young part of the heap. */
const GROWTH = 0.05
const SLACK = 3 * YOUNG

const PROVIDERS = ['openai', 'anthropic', 'gemini']

/** The operator's file; each `edition` is another one that serves the same. */
function configuration(base: string, edition: number): string {
  const upstreams = Object.fromEntries(
    PROVIDERS.flatMap(provider =>
      ['one', 'two'].map(name => [`${provider}-${name}`, { provider, base, secret: `secret-of-${provider}-${name}` }]),
    ),
  )
  const models = Object.fromEntries(
    PROVIDERS.map((provider, index) => [
      `by-${provider}`,
      {
        targets: [
          { upstream: `${provider}-one`, weight: 1 + (edition % 3) },
          { upstream: `${provider}-two` },
          { upstream: `${PROVIDERS[(index + 1) % PROVIDERS.length]}-one`, priority: 2 },
        ],
      },
    ]),
  )
  return dump({
    listen: '127.0.0.1:0',
    keys: [{ name: 'soak', value: KEY }],
    upstreams,
    models: { ...models, [`edition-${edition}`]: { targets: [{ upstream: 'openai-one' }] } },
    limits: { connect: '5s', headers: '3s', first_event: '3s', idle: '3s', total: '30s' },
    grace: '10s',
  })
}

/** Runs for so many minutes. Throws where gateway or upstream do not begin. */
export async function soak({ minutes, isEnough = () => true, say = () => undefined }: SoakOptions): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
  const upstream = fork(join(HOME, 'dist/test/soak/upstream.js'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let gateway: RunningGateway | undefined
  try {
    const base = await new Promise<string>((resolve, reject) => {
      upstream.once('message', message => resolve((message as { base: string }).base))
      upstream.once('exit', () => reject(new Error('the upstream ended before it listened')))
    })
    const path = join(folder, 'gateway.yaml')
    writeFileSync(path, configuration(base, 0))
    gateway = await startGateway(path)
    return await drive(gateway, path, base, { minutes, isEnough, say })
  } finally {
    gateway?.child.kill('SIGKILL')
    upstream.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function drive(
  gateway: RunningGateway,
  path: string,
  base: string,
  { minutes, isEnough, say }: Required<SoakOptions>,
): Promise<SoakResult> {
  const time = minutes * 60_000
  const began = performance.now()
  const plan = await loadPlan(undefined)
  const run = traffic(
    gateway.url,
    plan,
    PROVIDERS.map(provider => `by-${provider}`),
    KEY,
  )
  const capacity = await capacityOf(run, Math.min(time / 6, 15_000))
  const rate = Math.max(1, Math.round(capacity * SHARE))
  say(`${Math.round(capacity)} requests a second are what it takes; ${rate} are what it gets.`)

  const samples: number[] = []
  const pending = new Set<Promise<void>>()
  let [edition, due, last] = [0, 0, performance.now()]
  const every = Math.min(5_000, time / 6)
  let [nextReload, nextSample] = [performance.now() + every, performance.now()]
  const isOver = (): boolean => performance.now() - began >= (isEnough(run.counts) ? time : time * MOST_TIMES)
  while (!isOver() && gateway.child.exitCode === null && run.counts.wrong.length === 0) {
    const now = performance.now()
    due += ((now - last) / 1000) * rate
    last = now
    // What was not sent in time, because this process was late, is not sent at once: that would be another load.
    if (due > rate) due = rate
    for (; due >= 1 && run.open() < MOST_OPEN; due--) {
      const one = run.one(false)
      pending.add(one)
      void one.then(() => pending.delete(one))
    }
    if (now >= nextReload) {
      writeFileSync(path, configuration(base, ++edition))
      nextReload = now + every
    }
    if (now >= nextSample) {
      samples.push(gateway.rss())
      nextSample = now + 250
    }
    await sleep(TICK)
  }
  await Promise.all(pending)
  run.close()
  const isCurrent = await serves(gateway.url, `edition-${edition}`)
  await gateway.stop()
  const { counts } = run
  const third = Math.floor(samples.length / 3)
  const rss = [0, 1, 2].map(index => median(samples.slice(index * third, (index + 1) * third))) as [number, number, number]
  return {
    counts,
    capacity,
    rate,
    reloads: gateway.reloads(),
    rss,
    findings: [...(isCurrent ? [] : ['the last change of the file took no effect']), ...findingsOf(counts, rss, gateway)],
  }
}

function findingsOf(counts: Counts, [, second, last]: readonly number[], gateway: RunningGateway): string[] {
  const found = [...counts.wrong]
  const [before = 0, after = 0] = [second, last]
  if (after > before * (1 + GROWTH) + SLACK) found.push(`memory grew from ${before} to ${after} MiB`)
  if (gateway.child.exitCode !== 0) found.push(`the gateway ended with ${gateway.child.exitCode ?? gateway.child.signalCode}`)
  found.push(...gateway.odd())
  const answered = counts.sent - counts.aborted
  if (gateway.lines() < answered || gateway.lines() > counts.sent)
    found.push(`the access log has ${gateway.lines()} lines for ${counts.sent} requests, ${counts.aborted} of them given up`)
  if (counts.whole < answered / 2) found.push(`${counts.whole} of ${answered} answers were whole`)
  return found
}

/** Whether a model comes to be served. */
async function serves(url: string, model: string): Promise<boolean> {
  const until = performance.now() + PATIENCE
  while (performance.now() < until) {
    const models = await fetch(`${url}/v1/models/${model}`, { headers: { authorization: `Bearer ${KEY}` } }).catch(() => undefined)
    await models?.arrayBuffer()
    if (models?.status === 200) return true
    await sleep(100)
  }
  return false
}

/** Requests in a second that are answered when the next one follows at once. */
async function capacityOf(run: ReturnType<typeof traffic>, time: number): Promise<number> {
  // What is loaded for the first requests is no measure.
  await Promise.all(Array.from({ length: WIDTH }, () => run.one(true)))
  const began = performance.now()
  const before = run.counts.sent
  const work = async (): Promise<void> => {
    while (performance.now() - began < time) await run.one(true)
  }
  await Promise.all(Array.from({ length: WIDTH }, work))
  return (run.counts.sent - before) / ((performance.now() - began) / 1000)
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

interface RunningGateway {
  child: ChildProcess
  url: string
  reloads(): number
  /** Lines of the access log that are about the traffic. */
  lines(): number
  /** What it said that it should not have had to say. */
  odd(): string[]
  /** Resident memory in MiB. */
  rss(): number
  stop(): Promise<void>
}

const MOST_ODD = 5

async function startGateway(path: string): Promise<RunningGateway> {
  const child = spawn(
    process.execPath,
    [`--max-semi-space-size=${YOUNG}`, `--initial-old-space-size=${OLD}`, PROGRAM, 'start', '--config', path],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const odd: string[] = []
  let [reloads, lines] = [0, 0]
  const note = (line: string): void => {
    if (odd.length < MOST_ODD) odd.push(`the gateway says: ${line.slice(0, 500)}`)
  }
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', note)
  const output = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', code => reject(new Error(`the gateway ended with ${code} before it listened: ${odd.join('\n')}`)))
    output.on('line', text => {
      const line = JSON.parse(text) as { msg: string; method?: string; url?: string; level: number; error?: { kind: string } }
      if (line.msg === 'request') lines += line.method === 'POST' ? 1 : 0
      else if (line.msg === 'reloaded') reloads++
      else if (line.msg === 'listening') resolve(line.url as string)
      else if (line.level >= 50) note(text)
      if (line.error?.kind === 'internal') note(text)
    })
  })
  const ended = new Promise<void>(resolve => output.on('close', resolve))
  return {
    child,
    url,
    reloads: () => reloads,
    lines: () => lines,
    odd: () => odd,
    rss: () => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024),
    async stop() {
      const exited = new Promise<void>(resolve => (child.exitCode === null ? child.once('exit', () => resolve()) : resolve()))
      child.kill('SIGTERM')
      await exited
      await ended
    },
  }
}
