// Metrics for Prometheus, from the records of exchanges and the gauges of workers. Labels contain only names of the
// configuration, so their number is bounded.

import { type OpenMetricsContentType, Registry, type RegistryContentType } from 'prom-client'
import { METERS } from '../engine/core/meters.js'
import type { Spent } from '../engine/snapshot/model.js'
import { createInstruments, type Instruments, MOST_SERIES, OTHER } from './instruments.js'
import { recordedPrice } from './ledger/price.js'
import { type ExchangeRecord, hasQuantity } from './ledger/record.js'
import type { Reloads } from './settings.js'
import { ENDED } from './store/columns.js'
import type { Worker } from './workers.js'

const NONE = 'none'

export interface MetricsOptions {
  /** Names of metrics that are left out, and labels as `metric.label`. */
  without: readonly string[]
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
  /** Counts exchanges that have ended. */
  count(records: readonly ExchangeRecord[]): void
  lost(count: number): void
  /** In the format of OpenMetrics, which has exemplars, or in Prometheus's own. */
  page(isOpenMetrics: boolean): Promise<{ type: string; text: string }>
}

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = openRegistry()
  const instruments = createInstruments(options.without, [registry])
  instruments.restarts.at({})(options.restarts)
  instruments.config.at({ hash: options.config, version: options.version }).set(1)
  instruments.lost.at({})(0)
  const open = copyInto(openRegistry(), registry)
  const text = copyInto(new Registry(), registry)
  const targets = new Set<string>()
  return {
    count: records => {
      for (const alike of alikeIn(records)) {
        const { target } = alike[0]
        if (target !== undefined && targets.size < MOST_SERIES) targets.add(target)
        countExchanges(instruments, alike)
        countMoney(instruments, alike, options)
        countAttempts(instruments, alike)
      }
    },
    lost: count => instruments.lost.at({})(count),
    async page(isOpenMetrics) {
      const workers = options.workers()
      setWorkers(instruments, workers)
      setTargets(instruments, workers, targets)
      instruments.reloads.reset()
      for (const [outcome, count] of Object.entries(options.reloads())) instruments.reloads.at({ outcome })(count)
      await setBudgets(instruments, workers, options)
      const state = options.state()
      instruments.lag.at({}).set(state.lag / 1000)
      instruments.spool.at({}).set(state.spool)
      instruments.storeUp.at({}).set(state.isUp ? 1 : 0)
      const page = isOpenMetrics ? open : text
      return { type: page.contentType, text: await page.metrics() }
    },
  }
}

/** Only metrics of such a registry may have exemplars. */
function openRegistry(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** The metrics of a registry in the format of another, as objects of its own: a page of OpenMetrics renames its counters. */
function copyInto<Format extends RegistryContentType>(
  copy: Registry<Format>,
  registry: Registry<OpenMetricsContentType>,
): Registry<Format> {
  for (const metric of registry.getMetricsAsArray()) copy.registerMetric(Object.create(metric))
  return copy
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
function countExchanges(instruments: Instruments, alike: Alike): void {
  const { requests, seconds, firstToken, perToken, overhead, gap, queue, tokens } = instruments
  const [first] = alike
  const names = { model: first.model ?? NONE, target: first.target ?? NONE }
  const route = first.route ?? NONE
  const ended = ENDED[first.ended] ?? 'failed'
  const dialects = dialectsOf(first)
  requests.at({ route, ...dialects, ...names, status: String(first.status), ended })(alike.length)
  const total = seconds.at({ route, ...names, ended })
  const toFirst = firstToken.at(names)
  const token = perToken.at(names)
  const silence = gap.at(names)
  const own = overhead.at({ route, ...dialects })
  const used = new Map<string, number>()
  const add = (kind: string, count: number | undefined): void => {
    if (count !== undefined && count > 0) used.set(kind, (used.get(kind) ?? 0) + count)
  }
  for (const record of alike) {
    const { id } = record
    total(record.total / 1000, id)
    if (record.firstToken !== undefined) {
      toFirst(record.firstToken / 1000, id)
      if (record.output !== undefined && record.output > 1) token((record.total - record.firstToken) / 1000 / record.output, id)
    }
    if (record.gap !== undefined) silence(record.gap / 1000, id)
    // Of several attempts the last one's time is known only.
    if (record.attempts === 1 && record.upstream !== undefined && record.firstByte !== undefined)
      own(Math.max(0, record.firstByte - record.upstream - (record.queued ?? 0)) / 1000, id)
    if (record.queued !== undefined) {
      const outcome = record.attempts > 0 ? 'ok' : (record.error ?? NONE)
      queue.at({ target: names.target, outcome })(record.queued / 1000, id)
    }
    add('input', record.input)
    add('output', record.output)
    add('cached', record.cached)
    add('cache_write', record.cacheWrite)
    add('reasoning', record.reasoning)
    const meters = record.words?.meters
    if (meters) for (const [name, count] of Object.entries(meters)) if (METERS[name]?.parent !== undefined) add(name, count)
  }
  for (const [kind, count] of used) tokens.at({ kind, ...names })(count)
}

function countMoney({ cost, charge, unpriced }: Instruments, alike: Alike, { currency }: Pick<MetricsOptions, 'currency'>): void {
  let [priced, without, costs, charges] = [0, 0, 0, 0]
  for (const record of alike) {
    const price = recordedPrice(record)
    if (price) {
      priced++
      costs += price.cost
      charges += price.charge
    } else if (hasQuantity(record)) without++
  }
  if (priced + without === 0) return
  const [{ model = NONE, target = NONE, group = NONE }] = alike
  const whose = { model, target, group }
  if (priced > 0) {
    cost.at({ ...whose, currency })(costs / 1e9)
    charge.at({ ...whose, currency })(charges / 1e9)
  }
  if (without > 0) unpriced.at(whose)(without)
}

/** The attempts of exchanges, or their refusals before the first one; and the fields that were dropped. */
function countAttempts({ attempts, refused, dropped }: Instruments, alike: Alike): void {
  const [first] = alike
  const { error, group = NONE, target = NONE } = first
  if (first.attempts > 0) attempts.at({ target, outcome: error ?? 'ok' })(alike.length)
  const isRefused = first.attempts === 0 && first.status >= 400 && ENDED[first.ended] !== 'aborted'
  const usual = REASONS[error ?? ''] ?? error ?? NONE
  for (const { words } of alike) {
    if (isRefused) refused.at({ reason: words?.reason ?? usual, group })(1)
    if (words === undefined) continue
    for (const one of words.failed ?? []) attempts.at({ target: one.target, outcome: one.kind })(1)
    // A label has names of schemas and of the configuration only. Those that a client made up are in the detail of the row.
    for (const name of words.dropped ?? []) dropped.at({ ...dialectsOf(first), field: words.unnamed?.includes(name) ? OTHER : name })(1)
  }
}

/** The reasons of refusals, by the kind of error, if nothing more is known. */
const REASONS: Readonly<Record<string, string>> = { authentication: 'key', permission: 'key', billing: 'budget' }

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
    inFlight.at({ worker }).set(gauges.inFlight)
    streams.at({ worker }).set(gauges.streams)
    sockets.at({ worker }).set(gauges.sockets)
    bodies.at({ worker }).set(gauges.bodyBytes)
    gc.at({ worker })(gauges.gcMilliseconds / 1000)
    ring.at({ worker }).set(gauges.records)
    keys.at({ worker }).set(gauges.keys)
    delay.at({ worker, quantile: '0.5' }).set(gauges.loopDelay50 / 1000)
    delay.at({ worker, quantile: '0.99' }).set(gauges.loopDelay99 / 1000)
    resident.at({ worker }).set(gauges.residentBytes)
    cpu.at({ worker })(gauges.cpuMicroseconds / 1e6)
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
    targetUp.at({ target }).set(up.get(target) ?? 1)
    targetInFlight.at({ target }).set(busy.get(target) ?? 0)
  }
  stateUp.at({}).set(known.every(({ isStateUp }) => isStateUp !== false) ? 1 : 0)
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
  for (const one of all) reserved.at({ budget: one.budget, currency }).add(one.reserved / 1e9)
  const budgets = new Map(all.map(one => [one.account, one]))
  const spent = await options.spent([...budgets.keys()]).catch(() => undefined)
  if (spent === undefined) return
  const used = new Map(spent.map(one => [one.id, one.spent]))
  for (const { budget, account, limit } of budgets.values())
    remaining.at({ budget, currency }).set(Math.max(0, limit - (used.get(account) ?? 0)) / 1e9)
}
