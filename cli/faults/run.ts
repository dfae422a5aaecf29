// Runs cases, each with its own gateway, so that the state of targets is not shared.

import { createHash, randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import pino from 'pino'
import { HOME } from '../../codegen/home.js'
import type { Plan } from '../../engine/plan.js'
import { createSnapshot } from '../../engine/snapshot/snapshot.js'
import { type Gateway, run } from '../gateway.js'
import { type Dialect, dialects } from '../simulator/dialects.js'
import { filledScript } from '../simulator/grammar.js'
import { type Case, configOf } from './cases.js'
import { ask, type Heard, requestOf } from './client.js'
import { type Exchange, judge } from './judge.js'
import { type Fault, faultFor, roundsOf, type Scenario } from './scenarios.js'
import { type Call, type FaultyUpstream, startFaultyUpstream } from './upstream.js'

export interface Result {
  case: Case
  /** The faults; empty if it passed. */
  findings: string[]
  /** It failed beside many others, and was repeated beside few, because a busy machine misses deadlines, too. */
  isRepeated: boolean
}

/** Cases at once: many wait for a deadline, and all share the processor. */
const WIDTH = 16
/** The same for repeated cases. */
const FEW = 4
/** Milliseconds of silence after which a client gives up: longer than any deadline of the gateway. */
const PATIENCE = 25_000
/** The factor of the deadlines of a repeated case. */
const SLOWNESS = 4
/** The text of good answers after a token; long enough for faults in the middle of a stream. */
const WORDS = 'is what this answer repeats of the request that it belongs to, and it ends here.'

/** Runs cases in parallel; calls `report` with each result. */
export async function runCases(cases: readonly Case[], report?: (result: Result) => void): Promise<Result[]> {
  const upstream = await startFaultyUpstream(HOME)
  const known = dialects(HOME)
  const results: Result[] = []
  const again: Case[] = []
  let next = 0
  const attempt = (one: Case, slowness: number): Promise<string[]> =>
    runCase(one, slowness, upstream, known).catch(error => [error instanceof Error ? error.message : String(error)])
  const take = (result: Result): void => {
    results.push(result)
    report?.(result)
  }
  const work = async (): Promise<void> => {
    while (next < cases.length) {
      const one = cases[next++] as Case
      const findings = await attempt(one, 1)
      if (findings.length > 0) again.push(one)
      else take({ case: one, findings, isRepeated: false })
    }
  }
  try {
    // Modules that the first request of a kind loads must be loaded before deadlines are short.
    for (const one of firsts(cases)) await attempt({ ...one, scenario: SOUND }, SLOWNESS)
    await Promise.all(Array.from({ length: WIDTH }, work))
    const repeat = async (): Promise<void> => {
      for (let one = again.shift(); one; one = again.shift()) take({ case: one, findings: await attempt(one, SLOWNESS), isRepeated: true })
    }
    await Promise.all(Array.from({ length: FEW }, repeat))
  } finally {
    await upstream.stop()
  }
  const order = new Map(cases.map((one, index) => [one.id, index]))
  return results.sort((one, other) => (order.get(one.case.id) ?? 0) - (order.get(other.case.id) ?? 0))
}

const SOUND: Scenario = { name: 'sound', title: 'no fault', first: [{}] }

/** One case for each pair of client and upstream. */
function firsts(cases: readonly Case[]): Case[] {
  return [...new Map(cases.map(one => [`${one.client.dialect} ${one.client.mode} ${one.column}`, one])).values()]
}

interface Round {
  token: string
  heard: Heard
  calls: Call[]
}

async function runCase(one: Case, slowness: number, upstream: FaultyUpstream, known: readonly Dialect[]): Promise<string[]> {
  const { id, scenario, client, model, plan, targets } = one
  const key = randomBytes(16).toString('hex')
  const config = configOf(one, name => upstream.baseOf(id, name), createHash('sha256').update(key).digest('hex'), slowness)
  const wanted = roundsOf(scenario)
  const lines: Record<string, unknown>[] = []
  let token = ''
  const calls = upstream.open(
    id,
    script(one, () => token),
  )
  const gateway = await open(one, config, lines)
  const rounds: Round[] = []
  try {
    for (let count = 0; count < wanted; count++) {
      token = `token-${randomBytes(6).toString('hex')}`
      const from = calls.length
      const heard = await ask(gateway.url, requestOf(client, plan, model, token, key), PATIENCE)
      rounds.push({ token, heard, calls: calls.slice(from) })
    }
  } finally {
    // Closing writes the rest of the log.
    await gateway.close()
    upstream.close(id)
  }
  const secrets = Object.values(config.upstreams).flatMap(({ secret, base }) => [...(secret ? [secret] : []), new URL(base as string).host])
  return rounds.flatMap(({ token, heard, calls: seen }, index) => {
    const line = lines.find(entry => entry.msg === 'request' && entry.id === heard.headers['x-request-id'])
    const usageOf = (call: Call): { input: number; output: number } => costOf(call, token)
    const exchange: Exchange = { client, token, heard, calls: seen, line, targets, secrets, key, usageOf }
    const prefix = rounds.length > 1 ? `round ${index + 1}: ` : ''
    return judge(exchange, plan, known).map(found => prefix + found)
  })
}

/** The next fault of an upstream: from the scenario's `first` for the first upstream that was called, else from its `others`. */
function script({ scenario }: Case, token: () => string): (upstream: string, streams: boolean) => Fault {
  const counts = new Map<string, number>()
  let first: string | undefined
  return (upstream, streams) => {
    first ??= upstream
    const faults = upstream === first ? scenario.first : (scenario.others ?? [{}])
    const count = counts.get(upstream) ?? 0
    counts.set(upstream, count + 1)
    const written = faults[Math.min(count, faults.length - 1)] ?? {}
    // Event by event, so that there is a beginning before a failure in the middle.
    return { text: `${token()} ${WORDS}`, pace: 0, ...faultFor(written, streams) }
  }
}

/** The usage that the simulator reports for a whole answer: a token for each word, unless the fault sets another. */
function costOf({ fault }: Call, token: string): { input: number; output: number } {
  const words = `${token} ${WORDS}`.split(' ').length
  const { usage } = filledScript(fault)
  return { input: usage.input, output: usage.output ?? words }
}

function open(
  { loaded: { settings: all }, plan }: { loaded: Case['loaded']; plan: Plan },
  config: Parameters<typeof createSnapshot>[1],
  lines: Record<string, unknown>[],
): Promise<Gateway> {
  // No control process runs, and the suite's key is in the configuration: waiting for either would only take time.
  const { store, tokens, state, ...settings } = all
  const sink = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') lines.push(JSON.parse(line))
      done()
    },
  })
  return run({
    settings: { ...settings, host: '127.0.0.1', port: 0, grace: 1_000, drain: 0, workers: 1, isAccessLogged: true },
    snapshot: createSnapshot(plan, config),
    log: pino({ level: 'info', base: null }, sink),
    isShared: false,
  })
}
