// Metrics for Prometheus, from the records of exchanges and the gauges of workers. Labels contain only names of the
// configuration, so their number is bounded.

import { Registry } from 'prom-client'
import { METERS } from '../engine/core/meters.js'
import type { Spent } from '../engine/snapshot/model.js'
import { createInstruments, type Instruments } from './instruments.js'
import type { Price } from './ledger/price.js'
import type { ExchangeRecord } from './ledger/record.js'
import type { Reloads } from './settings.js'
import { ENDED } from './store/columns.js'
import type { Worker } from './workers.js'

/** Series of one metric; further ones are counted together. */
const MOST_SERIES = 20_000
const NONE = 'none'

export interface MetricsOptions {
  currency: string
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
  count(record: ExchangeRecord, price: Price | undefined): void
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
    count: (record, price) => {
      if (record.target !== undefined && targets.size < MOST_SERIES) targets.add(record.target)
      countExchange(instruments, limited, record)
      countMoney(instruments, limited, record, price, options.currency)
      countAttempts(instruments, limited, record)
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

/** How long exchanges took, how they ended, and what they used. */
function countExchange(instruments: Instruments, limited: SeriesLimit, record: ExchangeRecord): void {
  const { requests, seconds, firstToken, perToken, overhead, gap, queue, tokens } = instruments
  const names = { model: record.model ?? NONE, target: record.target ?? NONE }
  const route = record.route ?? NONE
  const ended = ENDED[record.ended] ?? 'failed'
  requests.inc(limited('requests', { route, ...dialectsOf(record), ...names, status: String(record.status), ended }))
  seconds.observe(limited('seconds', { route, ...names, ended }), record.total / 1000)
  const pair = limited('pair', names)
  if (record.firstToken !== undefined) {
    firstToken.observe(pair, record.firstToken / 1000)
    if (record.output !== undefined && record.output > 1) perToken.observe(pair, (record.total - record.firstToken) / 1000 / record.output)
  }
  if (record.gap !== undefined) gap.observe(pair, record.gap / 1000)
  // Of several attempts the last one's time is known only.
  if (record.attempts === 1 && record.upstream !== undefined && record.firstByte !== undefined) {
    const own = record.firstByte - record.upstream - (record.queued ?? 0)
    overhead.observe(limited('overhead', { route, ...dialectsOf(record) }), Math.max(0, own) / 1000)
  }
  if (record.queued !== undefined) {
    const outcome = record.attempts > 0 ? 'ok' : (record.error ?? NONE)
    queue.observe(limited('queue', { target: names.target, outcome }), record.queued / 1000)
  }
  for (const kind of ['input', 'output', 'cached', 'cacheWrite', 'reasoning'] as const) {
    const count = record[kind]
    if (count !== undefined && count > 0) tokens.inc({ kind: kind === 'cacheWrite' ? 'cache_write' : kind, ...pair }, count)
  }
  for (const [name, count] of Object.entries(record.words?.meters ?? {}))
    if (METERS[name]?.parent !== undefined) tokens.inc({ kind: name, ...pair }, count)
}

function countMoney(
  { cost, charge, unpriced }: Instruments,
  limited: SeriesLimit,
  record: ExchangeRecord,
  price: Price | undefined,
  currency: string,
): void {
  const whose = limited('whose', { model: record.model ?? NONE, target: record.target ?? NONE, group: record.group ?? NONE })
  if (price) {
    cost.inc({ ...whose, currency }, price.cost / 1e9)
    charge.inc({ ...whose, currency }, price.charge / 1e9)
  } else if (record.input !== undefined || record.output !== undefined) unpriced.inc(whose)
}

/** The attempts of an exchange, or its refusal before the first one; and the fields that were dropped. */
function countAttempts({ attempts, refused, dropped }: Instruments, limited: SeriesLimit, record: ExchangeRecord): void {
  const { words, error } = record
  for (const { target, kind } of words?.failed ?? []) attempts.inc(limited('attempts', { target, outcome: kind }))
  if (record.attempts > 0) attempts.inc(limited('attempts', { target: record.target ?? NONE, outcome: error ?? 'ok' }))
  else if (record.status >= 400) refused.inc(limited('refused', { reason: error ?? NONE, group: record.group ?? NONE }))
  // A client chooses field names, so they go into the row's detail and not into labels.
  const fields = words?.dropped?.length ?? 0
  if (fields > 0) dropped.inc(limited('dropped', dialectsOf(record)), fields)
}

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
