// Metrics for Prometheus, from the records of exchanges and the gauges of workers. Labels contain only names of the
// configuration, so their number is bounded.

import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { METERS } from '../engine/core/meters.js'
import type { Spent } from '../engine/snapshot/model.js'
import type { Price } from './ledger/price.js'
import type { ExchangeRecord } from './ledger/record.js'
import { ENDED } from './store/columns.js'
import type { Worker } from './workers.js'

/** Series of one metric; further ones are counted together. */
const MOST_SERIES = 20_000
const NONE = 'none'

const REQUEST = ['route', 'dialect', 'upstream_dialect', 'model', 'target', 'status', 'ended'] as const
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.2, 0.5, 1]

export interface MetricsOptions {
  currency: string
  config: string
  version: string
  restarts: number
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
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames: [...labelNames], registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]): Histogram<Label> =>
    new Histogram({ name, help, labelNames: [...labelNames], buckets, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames: [...labelNames], registers })

  const requests = counter('sluice_requests_total', 'Ended exchanges.', REQUEST)
  const seconds = histogram('sluice_request_seconds', 'Duration of an exchange.', ['route', 'model', 'target', 'ended'], SECONDS)
  const firstToken = histogram(
    'sluice_first_token_seconds',
    'Time from the beginning of an exchange to the first part of its answer.',
    ['model', 'target'],
    SECONDS,
  )
  const perToken = histogram('sluice_token_seconds', 'Time for each output token of a stream.', ['model', 'target'], TOKEN_SECONDS)
  const tokens = counter(
    'sluice_tokens_total',
    'Tokens that providers reported; input includes cached, cache_write, audio_input and image_input, output includes reasoning, audio_output and image_output.',
    ['kind', 'model', 'target'],
  )
  const cost = counter('sluice_cost_total', 'Cost of providers, in the currency.', ['model', 'target', 'group', 'currency'])
  const charge = counter('sluice_charge_total', 'Charges of callers, in the currency.', ['model', 'target', 'group', 'currency'])
  const unpriced = counter('sluice_unpriced_total', 'Exchanges with usage but without a price.', ['model', 'target', 'group'])
  const attempts = counter('sluice_attempts_total', 'Attempts at targets, by outcome.', ['target', 'outcome'])
  const refused = counter('sluice_refused_total', 'Exchanges that were refused before the first attempt.', ['reason', 'group'])
  const dropped = counter('sluice_dropped_fields_total', 'Fields that were dropped or changed for a provider.', [
    'dialect',
    'upstream_dialect',
  ])
  const lost = counter('sluice_ledger_lost_total', 'Exchanges without a row, because their records could not be delivered in time.', [])
  const inFlight = gauge('sluice_in_flight', 'Exchanges under way.', ['worker'])
  const streams = gauge('sluice_streams_open', 'Streams under way.', ['worker'])
  const ring = gauge('sluice_ledger_ring', 'Records that wait in a worker.', ['worker'])
  const keys = gauge('sluice_keys_cached', 'Keys of the store in the cache of a worker.', ['worker'])
  const delay = gauge('sluice_loop_delay_seconds', 'Delay of the event loop of a worker in the last second.', ['worker', 'quantile'])
  const resident = gauge('process_resident_memory_bytes', 'Memory of a worker.', ['worker'])
  const cpu = gauge('process_cpu_seconds_total', 'Processor time of a worker.', ['worker'])
  const remaining = gauge('sluice_budget_remaining', 'Remainder of a budget with metrics, in its current window.', ['budget', 'currency'])
  const reserved = gauge('sluice_budget_reserved', 'Reservations of exchanges under way of this instance.', ['budget', 'currency'])
  const lag = gauge('sluice_ledger_lag_seconds', 'Waiting time of the oldest record for the store.', [])
  const spool = gauge('sluice_ledger_spool_bytes', 'Size of the records on disk that wait for the store.', [])
  const storeUp = gauge('sluice_store_up', 'Whether the store answers.', [])
  gauge('sluice_control_restarts_total', 'Restarts of the control process.', []).set(options.restarts)
  gauge('sluice_config_info', 'The running configuration and version.', ['hash', 'version']).set(
    { hash: options.config, version: options.version },
    1,
  )
  lost.inc(0)

  const { currency } = options
  /** The store knows what is left: while it is unreachable, nothing is reported. Workers report what is reserved. */
  const reportBudgets = async (): Promise<void> => {
    remaining.reset()
    reserved.reset()
    const all = options.workers().flatMap(({ gauges }) => gauges?.budgets ?? [])
    for (const one of all) reserved.inc({ budget: one.budget, currency }, one.reserved / 1e9)
    const budgets = new Map(all.map(one => [one.account, one]))
    const spent = await options.spent([...budgets.keys()]).catch(() => undefined)
    if (spent === undefined) return
    const used = new Map(spent.map(one => [one.id, one.spent]))
    for (const { budget, account, limit } of budgets.values())
      remaining.set({ budget, currency }, Math.max(0, limit - (used.get(account) ?? 0)) / 1e9)
  }
  const limited = createSeriesLimit()
  return {
    count(record, price) {
      const { ended } = record
      const [model, target, group] = [record.model ?? NONE, record.target ?? NONE, record.group ?? NONE]
      const names = { model, target }
      const how = ENDED[ended] ?? 'failed'
      const labels = {
        route: record.route ?? NONE,
        dialect: record.dialect ?? NONE,
        upstream_dialect: record.upstreamDialect ?? NONE,
        ...names,
        status: String(record.status),
        ended: how,
      }
      requests.inc(limited('requests', labels))
      seconds.observe(limited('seconds', { route: labels.route, ...names, ended: how }), record.total / 1000)
      const pair = limited('pair', names)
      if (record.firstToken !== undefined) {
        firstToken.observe(pair, record.firstToken / 1000)
        if (record.output !== undefined && record.output > 1)
          perToken.observe(pair, (record.total - record.firstToken) / 1000 / record.output)
      }
      for (const kind of ['input', 'output', 'cached', 'cacheWrite', 'reasoning'] as const) {
        const count = record[kind]
        if (count !== undefined && count > 0) tokens.inc({ kind: kind === 'cacheWrite' ? 'cache_write' : kind, ...pair }, count)
      }
      for (const [name, count] of Object.entries(record.words?.meters ?? {}))
        if (METERS[name]?.parent !== undefined) tokens.inc({ kind: name, ...pair }, count)
      const whose = limited('whose', { ...names, group })
      if (price) {
        cost.inc({ ...whose, currency: options.currency }, price.cost / 1e9)
        charge.inc({ ...whose, currency: options.currency }, price.charge / 1e9)
      } else if (record.input !== undefined || record.output !== undefined) unpriced.inc(whose)
      for (const failure of record.words?.failed ?? []) attempts.inc(limited('attempts', { target: failure.target, outcome: failure.kind }))
      if (record.attempts > 0) attempts.inc(limited('attempts', { target, outcome: record.error ?? 'ok' }))
      else if (record.status >= 400) refused.inc(limited('refused', { reason: record.error ?? NONE, group }))
      // A client chooses field names, so they go into the row's detail and not into labels.
      const fields = record.words?.dropped?.length ?? 0
      if (fields > 0) dropped.inc(limited('dropped', { dialect: labels.dialect, upstream_dialect: labels.upstream_dialect }), fields)
    },
    lost: count => lost.inc(count),
    async page() {
      for (const one of [inFlight, streams, ring, keys, delay, resident, cpu]) one.reset()
      for (const { pid, gauges } of options.workers()) {
        if (gauges === undefined) continue
        const worker = String(pid)
        inFlight.set({ worker }, gauges.inFlight)
        streams.set({ worker }, gauges.streams)
        ring.set({ worker }, gauges.records)
        keys.set({ worker }, gauges.keys)
        delay.set({ worker, quantile: '0.5' }, gauges.loopDelay50 / 1000)
        delay.set({ worker, quantile: '0.99' }, gauges.loopDelay99 / 1000)
        resident.set({ worker }, gauges.residentBytes)
        cpu.set({ worker }, gauges.cpuMicroseconds / 1e6)
      }
      await reportBudgets()
      const state = options.state()
      lag.set(state.lag / 1000)
      spool.set(state.spool)
      storeUp.set(state.isUp ? 1 : 0)
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Bounds the number of series of each metric: excess labels become `other`. */
function createSeriesLimit(): <Labels extends Record<string, string>>(metric: string, labels: Labels) => Labels {
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
