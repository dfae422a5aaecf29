// The instruments of the metrics: what each is counted with. What is left out has instruments that do nothing.

import { Counter, Gauge, Histogram, type Metric, type OpenMetricsContentType, type Registry } from 'prom-client'
import { COUNTERS, type Definition, GAUGES, HISTOGRAMS } from './metric-list.js'

/** Series of one metric; further ones are counted together. */
export const MOST_SERIES = 20_000
/** The value of a label for what has no series of its own, or no name in the configuration. */
export const OTHER = 'other'

interface Instrument<Label extends string, Series> {
  /** Adds a series if there is none with these labels. */
  at(labels: Record<Label, string>): Series
  /** Removes all series. */
  reset(): void
}
type Add = (amount: number) => void
/** @param id the exchange that the value is of */
type Observe = (value: number, id: string) => void

type InstrumentsOf<List extends Record<string, Definition>, Series> = {
  [Name in keyof List]: Instrument<List[Name]['labels'][number], Series>
}
export type Instruments = InstrumentsOf<typeof COUNTERS, Add> &
  InstrumentsOf<typeof HISTOGRAMS, Observe> &
  InstrumentsOf<typeof GAUGES, { set(value: number): void; add: Add }>

type Labels = Record<string, string>

/** @param without names of metrics, and labels as `metric.label` */
export function createInstruments(without: readonly string[], registers: Registry<OpenMetricsContentType>[]): Instruments {
  const omitted = new Set(without)
  const made = <List extends Record<string, Definition>, Series, Kind extends Metric>(
    list: List,
    nothing: Series,
    create: (definition: List[keyof List], labelNames: string[]) => Kind,
    series: (metric: Kind, labels: Labels) => Series,
  ): InstrumentsOf<List, Series> => {
    const instruments = Object.entries(list).map(([key, definition]) => {
      const { name, labels } = definition
      if (omitted.has(name)) return [key, { at: () => nothing, reset: () => undefined }]
      const kept = labels.filter(label => !omitted.has(`${name}.${label}`))
      const metric = create(definition as List[keyof List], kept)
      let limited = seriesLimit(kept)
      const reset = (): void => {
        limited = seriesLimit(kept)
        metric.reset()
      }
      return [key, { at: (given: Labels) => series(metric, limited(given)), reset }]
    })
    return Object.fromEntries(instruments) as InstrumentsOf<List, Series>
  }
  const nothing = (): void => undefined
  return {
    ...made(
      COUNTERS,
      nothing,
      ({ name, help }, labelNames) => new Counter({ name, help, labelNames, registers }),
      (counter, labels): Add =>
        amount =>
          counter.inc(labels, amount),
    ),
    ...made(
      HISTOGRAMS,
      nothing,
      ({ name, help, buckets }, labelNames) =>
        new Histogram({ name, help, labelNames, buckets: [...buckets], registers, enableExemplars: true }),
      (histogram, labels): Observe =>
        (value, id) =>
          histogram.observe({ labels, value, exemplarLabels: { request_id: id } }),
    ),
    ...made(
      GAUGES,
      { set: nothing, add: nothing },
      ({ name, help }, labelNames) => new Gauge({ name, help, labelNames, registers }),
      (gauge, labels) => ({ set: (value: number) => gauge.set(labels, value), add: (amount: number) => gauge.inc(labels, amount) }),
    ),
  }
}

/** The labels that are kept; or `other` for each, if the metric has too many series. */
function seriesLimit(kept: readonly string[]): (labels: Labels) => Labels {
  const known = new Map<string, Labels>()
  const other = Object.fromEntries(kept.map(label => [label, OTHER]))
  return given => {
    const key = kept.map(label => given[label]).join('\n')
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= MOST_SERIES) return other
    const labels = Object.fromEntries(kept.map(label => [label, given[label] as string]))
    known.set(key, labels)
    return labels
  }
}
