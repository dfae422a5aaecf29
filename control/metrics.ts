// Metrics for Prometheus, from the records of exchanges and the gauges of workers. Labels contain only names of the
// configuration, so their number is bounded.

import { Registry } from 'prom-client'
import { METERS } from '../engine/core/meters.js'
import type { Spent } from '../engine/snapshot/model.js'
import { createInstruments, type Instruments } from './instruments.js'
import type { Pricing } from './ledger/price.js'
import type { ExchangeRecord } from './ledger/record.js'
import type { Reloads } from './settings.js'
import { ENDED } from './store/columns.js'
import type { Worker } from './workers.js'

/** Series of one metric; further ones are counted together. */
const MOST_SERIES = 20_000
const NONE = 'none'

export interface MetricsOptions {
  currency: string
  pricing: Pricing
  config: string
  version: string
  restarts: number
  reloads(): Reloads
  workers(): Worker[]
  /** Milliseconds, bytes, and whether the store answers. */
  state(): { lag: number; spool: number; isUp: boolean }
  /** The spending of budget accounts; rejects while the store is unreachable. */
  spent(accounts: readonly string[]): Promise<Spent[]>
}

export interface Metrics {
  /** Counts exchanges that have ended. */
  count(records: readonly ExchangeRecord[]): void
  lost(count: number): void
  page(): Promise<{ type: string; text: string }>
}

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry()
  const instruments = createInstruments(registry)
  instruments.restarts.set(options.restarts)
  instruments.config.set({ hash: options.config, version: options.version }, 1)
  instruments.lost.inc(0)
  const limited = createSeriesLimit()
  const targets = new Set<string>()
  return {
    count: records => {
      for (const alike of alikeIn(records)) {
        const { target } = alike[0]
        if (target !== undefined && targets.size < MOST_SERIES) targets.add(target)
        countExchanges(instruments, limited, alike)
        countMoney(instruments, limited, alike, options)
        countAttempts(instruments, limited, alike)
      }
    },
    lost: count => instruments.lost.inc(count),
    async page() {
      const workers = options.workers()
      setWorkers(instruments, workers)
      setTargets(instruments, workers, targets)
      for (const [outcome, count] of Object.entries(options.reloads())) instruments.reloads.set({ outcome }, count)
      await setBudgets(instruments, workers, options)
      const state = options.state()
      instruments.lag.set(state.lag / 1000)
      instruments.spool.set(state.spool)
      instruments.storeUp.set(state.isUp ? 1 : 0)
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Records that have all labels in common: most of a batch have, and series are found once for them. */
type Alike = [ExchangeRecord, ...ExchangeRecord[]]

function alikeIn(records: readonly ExchangeRecord[]): Iterable<Alike> {
  const groups = new Map<string, Alike>()
  for (const record of records) {
    const { route, dialect, upstreamDialect, model, target, group, status, ended, error, attempts } = record
    const key = `${route}\n${dialect}\n${upstreamDialect}\n${model}\n${target}\n${group}\n${status}\n${ended}\n${error}\n${attempts > 0}`
    const known = groups.get(key)
    if (known) known.push(record)
    else groups.set(key, [record])
  }
  return groups.values()
}

/** How long exchanges took, how they ended, and what they used. */
function countExchanges(instruments: Instruments, limited: SeriesLimit, alike: Alike): void {
  const { requests, seconds, firstToken, perToken, overhead, gap, queue, tokens } = instruments
  const [first] = alike
  const names = { model: first.model ?? NONE, target: first.target ?? NONE }
  const route = first.route ?? NONE
  const ended = ENDED[first.ended] ?? 'failed'
  const dialects = dialectsOf(first)
  requests.inc(limited('requests', { route, ...dialects, ...names, status: String(first.status), ended }), alike.length)
  const whole = limited('seconds', { route, ...names, ended })
  const pair = limited('pair', names)
  const own = limited('overhead', { route, ...dialects })
  const used = new Map<string, number>()
  const add = (kind: string, count: number | undefined): void => {
    if (count !== undefined && count > 0) used.set(kind, (used.get(kind) ?? 0) + count)
  }
  for (const record of alike) {
    seconds.observe(whole, record.total / 1000)
    if (record.firstToken !== undefined) {
      firstToken.observe(pair, record.firstToken / 1000)
      if (record.output !== undefined && record.output > 1)
        perToken.observe(pair, (record.total - record.firstToken) / 1000 / record.output)
    }
    if (record.gap !== undefined) gap.observe(pair, record.gap / 1000)
    // Of several attempts the last one's time is known only.
    if (record.attempts === 1 && record.upstream !== undefined && record.firstByte !== undefined)
      overhead.observe(own, Math.max(0, record.firstByte - record.upstream - (record.queued ?? 0)) / 1000)
    if (record.queued !== undefined) {
      const outcome = record.attempts > 0 ? 'ok' : (record.error ?? NONE)
      queue.observe(limited('queue', { target: names.target, outcome }), record.queued / 1000)
    }
    add('input', record.input)
    add('output', record.output)
    add('cached', record.cached)
    add('cache_write', record.cacheWrite)
    add('reasoning', record.reasoning)
    const meters = record.words?.meters
    if (meters) for (const [name, count] of Object.entries(meters)) if (METERS[name]?.parent !== undefined) add(name, count)
  }
  for (const [kind, count] of used) tokens.inc({ kind, ...pair }, count)
}

function countMoney(
  { cost, charge, unpriced }: Instruments,
  limited: SeriesLimit,
  alike: Alike,
  { currency, pricing }: Pick<MetricsOptions, 'currency' | 'pricing'>,
): void {
  let [priced, without, costs, charges] = [0, 0, 0, 0]
  for (const record of alike) {
    const price = pricing(record)
    if (price) {
      priced++
      costs += price.cost
      charges += price.charge
    } else if (record.input !== undefined || record.output !== undefined) without++
  }
  if (priced + without === 0) return
  const [{ model = NONE, target = NONE, group = NONE }] = alike
  const whose = limited('whose', { model, target, group })
  if (priced > 0) {
    cost.inc({ ...whose, currency }, costs / 1e9)
    charge.inc({ ...whose, currency }, charges / 1e9)
  }
  if (without > 0) unpriced.inc(whose, without)
}

/** The attempts of exchanges, or their refusals before the first one; and the fields that were dropped. */
function countAttempts({ attempts, refused, dropped }: Instruments, limited: SeriesLimit, alike: Alike): void {
  const [first] = alike
  const { error, group = NONE, target = NONE } = first
  if (first.attempts > 0) attempts.inc(limited('attempts', { target, outcome: error ?? 'ok' }), alike.length)
  const isRefused = first.attempts === 0 && first.status >= 400
  const usual = REASONS[error ?? ''] ?? error ?? NONE
  for (const { words } of alike) {
    if (isRefused) refused.inc(limited('refused', { reason: words?.reason ?? usual, group }))
    if (words === undefined) continue
    for (const one of words.failed ?? []) attempts.inc(limited('attempts', { target: one.target, outcome: one.kind }))
    // A label has names of schemas and of the configuration only. Those that a client made up are in the detail of the row.
    for (const name of words.dropped ?? [])
      dropped.inc(limited('dropped', { ...dialectsOf(first), field: words.unnamed?.includes(name) ? OTHER : name }))
  }
}

/** The reasons of refusals, by the kind of error, if nothing more is known. */
const REASONS: Readonly<Record<string, string>> = { authentication: 'key', permission: 'key', billing: 'budget' }

/** A name that is none of the configuration. */
const OTHER = 'other'

const dialectsOf = ({ dialect, upstreamDialect }: ExchangeRecord): { dialect: string; upstream_dialect: string } => ({
  dialect: dialect ?? NONE,
  upstream_dialect: upstreamDialect ?? NONE,
})

function setWorkers(instruments: Instruments, workers: readonly Worker[]): void {
  const { inFlight, streams, sockets, bodies, gc, ring, keys, delay, resident, cpu } = instruments
  for (const one of [inFlight, streams, sockets, bodies, gc, ring, keys, delay, resident, cpu]) one.reset()
  for (const { pid, gauges } of workers) {
    if (gauges === undefined) continue
    const worker = String(pid)
    inFlight.set({ worker }, gauges.inFlight)
    streams.set({ worker }, gauges.streams)
    sockets.set({ worker }, gauges.sockets)
    bodies.set({ worker }, gauges.bodyBytes)
    gc.set({ worker }, gauges.gcMilliseconds / 1000)
    ring.set({ worker }, gauges.records)
    keys.set({ worker }, gauges.keys)
    delay.set({ worker, quantile: '0.5' }, gauges.loopDelay50 / 1000)
    delay.set({ worker, quantile: '0.99' }, gauges.loopDelay99 / 1000)
    resident.set({ worker }, gauges.residentBytes)
    cpu.set({ worker }, gauges.cpuMicroseconds / 1e6)
  }
}

/** Every target that was ever called; workers name only those that are busy, or not in use. */
function setTargets({ targetUp, targetInFlight, stateUp }: Instruments, workers: readonly Worker[], targets: Set<string>): void {
  const known = workers.flatMap(({ gauges }) => gauges ?? [])
  const busy = new Map<string, number>()
  const up = new Map<string, number>()
  for (const gauges of known) {
    for (const [target, count] of gauges.busy) busy.set(target, (busy.get(target) ?? 0) + count)
    for (const { target, isOnTrial } of gauges.aside) up.set(target, Math.min(up.get(target) ?? 1, isOnTrial ? 0.5 : 0))
  }
  for (const target of [...busy.keys(), ...up.keys()]) if (targets.size < MOST_SERIES) targets.add(target)
  for (const target of targets) {
    targetUp.set({ target }, up.get(target) ?? 1)
    targetInFlight.set({ target }, busy.get(target) ?? 0)
  }
  stateUp.set(known.every(({ isStateUp }) => isStateUp !== false) ? 1 : 0)
}

/** Workers report reservations, the store the remainder: while it is unreachable, there is none. */
async function setBudgets(
  { remaining, reserved }: Instruments,
  workers: readonly Worker[],
  { currency, ...options }: Pick<MetricsOptions, 'currency' | 'spent'>,
): Promise<void> {
  remaining.reset()
  reserved.reset()
  const all = workers.flatMap(({ gauges }) => gauges?.budgets ?? [])
  for (const one of all) reserved.inc({ budget: one.budget, currency }, one.reserved / 1e9)
  const budgets = new Map(all.map(one => [one.account, one]))
  const spent = await options.spent([...budgets.keys()]).catch(() => undefined)
  if (spent === undefined) return
  const used = new Map(spent.map(one => [one.id, one.spent]))
  for (const { budget, account, limit } of budgets.values())
    remaining.set({ budget, currency }, Math.max(0, limit - (used.get(account) ?? 0)) / 1e9)
}

/** The labels of a series, or `other` for each label if the metric has too many series. */
type SeriesLimit = <Labels extends Record<string, string>>(metric: string, labels: Labels) => Labels

function createSeriesLimit(): SeriesLimit {
  const seen = new Map<string, Set<string>>()
  return (metric, labels) => {
    let known = seen.get(metric)
    if (known === undefined) seen.set(metric, (known = new Set()))
    const series = Object.values(labels).join('\n')
    if (known.has(series)) return labels
    if (known.size < MOST_SERIES) {
      known.add(series)
      return labels
    }
    return Object.fromEntries(Object.keys(labels).map(name => [name, 'other'])) as typeof labels
  }
}
