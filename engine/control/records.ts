// One record of fixed columns for each exchange, made when it has ended. Names are numbers of a list of the batch; only rare
// facts are text. Every figure that is counted anywhere is counted from these records.

import type { Call, Exchange } from '../core/exchange.js'
import { clientIdOf, requestIdOf } from '../core/log.js'
import { FACTS, type Fact, hasRare } from '../core/meters.js'
import { rareOf, spentBy } from '../core/usage.js'
import type { Usage } from '../plan.js'

/**
 * The columns of a record. NaN is an unknown figure. Those before `status`, except `at`, are texts of the batch; 0 is none. From
 * `path` to `request_id`, and from `answered` on, they are only for the line of the access log, and those texts are none if the
 * record asks for no line: `named` is the model as the client named it, `answered` the status of the last call.
 */
export const COLUMNS = [
  'at',
  'key',
  'team',
  'group',
  'model',
  'target',
  'route',
  'dialect',
  'upstream_dialect',
  'error',
  'tags',
  'region',
  'facts',
  'end_user',
  'session',
  'purse',
  'path',
  'method',
  'client_id',
  'named',
  'tier',
  'served_in',
  'request_id',
  'status',
  'ended',
  'flags',
  'input',
  'output',
  'cached',
  'cache_write',
  'reasoning',
  'attempts',
  'first_byte',
  'first_token',
  'upstream',
  'gap',
  'queued',
  'total',
  'bytes_in',
  'bytes_out',
  'cost',
  'charge',
  'answered',
  'connect',
  'headers',
] as const
export type Column = (typeof COLUMNS)[number]

const POSITIONS = Object.fromEntries(COLUMNS.map((column, at) => [column, at])) as Record<Column, number>

/** Where a column is in a record. */
export const columnOf = (column: Column): number => POSITIONS[column]

/** How many numbers a record has. */
export const WIDTH = COLUMNS.length

/** What a batch looks like: a worker and a control process of different versions do not understand each other. */
export const FORM = `texts ${COLUMNS.join(' ')}`

/** How an exchange ended. */
export const OK = 0
export const REFUSED = 1
export const FAILED = 2
export const PARTIAL = 3
export const ABORTED = 4
export const LOST = 5

/** The answer is a stream. */
export const STREAM = 1
/** The usage, or a part of it, was estimated and not reported. */
export const ESTIMATED = 2
/** A copy of a client's request, whose answer nobody received. */
export const MIRROR = 4
/** A second target was called because the first was slow, and one of the two calls was cancelled. */
export const HEDGED = 8
/** Whoever receives the record writes the line of the access log. */
export const LINE = 16

/** The facts of a record that are text. */
export interface Words {
  tags?: readonly string[]
  message?: string
  cause?: string
  failed?: readonly { target: string; kind: string; cause: string }[]
  dropped?: readonly string[]
  /** Those of them that the client made up. */
  unnamed?: readonly string[]
  /** What a refusal is for, if the kind of its error does not say it. */
  reason?: string
  /** Targets whose call was cancelled because another was faster. */
  cancelled?: readonly { target: string }[]
  /** Quantities of the rare meters, by name. */
  meters?: Readonly<Record<string, number>>
}

/** Records that are sent together. */
export interface Batch {
  ids: string[]
  /** `WIDTH` for each record. */
  numbers: Float64Array
  /** The names in its records, each once; number 1 is the first. A list for longer would grow with callers and clients. */
  texts: readonly string[]
  /** The other texts of the records that have any, by position in the batch. */
  words: [number, Words][]
}

/** Texts, so that records hold numbers: 1 is the first of the list, 0 is none. */
export class TextList {
  readonly all: string[] = []
  private readonly numbers = new Map<string, number>()

  numberOf(text: string | undefined): number {
    if (text === undefined) return 0
    let number = this.numbers.get(text)
    if (number === undefined) {
      number = this.all.push(text)
      this.numbers.set(text, number)
    }
    return number
  }

  /** The same for a text that no other record has. */
  add(text: string | undefined): number {
    return text === undefined ? 0 : this.all.push(text)
  }
}

/** The most records in a batch. */
export const BATCH = 256

/** A batch while it is filled. */
export class OpenBatch implements Batch {
  readonly ids: string[] = []
  readonly words: [number, Words][] = []
  readonly list = new TextList()
  readonly texts = this.list.all

  /** @param numbers a buffer of any content: each record writes all of its columns */
  constructor(readonly numbers: Float64Array = new Float64Array(BATCH * WIDTH)) {}

  /** The batch without the unused end of its buffer. */
  full(): Batch {
    const { ids, texts, words, numbers } = this
    return { ids, texts, words, numbers: numbers.subarray(0, ids.length * WIDTH) }
  }
}

const orNaN = (value: number | undefined): number => value ?? Number.NaN

/** Milliseconds from the beginning of a call; NaN if there was none, or if it did not come so far. */
const sinceBegan = (call: Call | undefined, time: number | undefined): number =>
  call === undefined || !time ? Number.NaN : time - call.began

/** Writes the record of an exchange into a batch; `total` is its duration in milliseconds, `hasLine` whether it asks for a line. */
export function writeRecord(batch: OpenBatch, exchange: Exchange, total: number, hasLine: boolean): void {
  const { log } = exchange
  const { caller, route } = log
  const { usage, cost, charge } = spentBy(exchange)
  const row = batch.ids.push(exchange.id) - 1
  const { numbers: to, list: names } = batch
  let at = row * WIDTH
  to[at++] = exchange.startedAt
  to[at++] = names.numberOf(log.key)
  to[at++] = names.numberOf(caller?.team)
  to[at++] = names.numberOf(caller?.groups[0])
  to[at++] = log.isKnownModel ? names.numberOf(log.modelPattern ?? log.model) : 0
  to[at++] = names.numberOf(log.target)
  to[at++] = names.numberOf(route?.name)
  to[at++] = names.numberOf(route?.dialect)
  to[at++] = names.numberOf(log.upstreamDialect)
  to[at++] = names.numberOf(log.error?.kind)
  to[at++] = names.numberOf(caller?.tagList)
  const kind = log.price?.kind
  to[at++] = kind === undefined || usage === undefined ? 0 : names.numberOf(kind.region(usage))
  to[at++] = kind === undefined || usage === undefined ? 0 : names.numberOf(kind.facts(usage))
  to[at++] = names.numberOf(log.labels?.endUser)
  to[at++] = names.numberOf(log.labels?.session)
  to[at++] = names.numberOf(log.held?.purse)
  if (hasLine) writeLineTexts(to, at, names, exchange, usage)
  else to.fill(0, at, at + LINE_TEXTS)
  at += LINE_TEXTS
  to[at++] = log.status
  to[at++] = endOf(exchange)
  to[at++] =
    (log.isStream ? STREAM : 0) +
    (usage === log.usage && !log.isEstimated ? 0 : ESTIMATED) +
    (log.isMirror ? MIRROR : 0) +
    (log.cancelled ? HEDGED : 0) +
    (hasLine ? LINE : 0)
  to[at++] = orNaN(usage?.input)
  to[at++] = orNaN(usage?.output)
  to[at++] = orNaN(usage?.cached)
  to[at++] = orNaN(usage?.cacheWrite)
  to[at++] = orNaN(usage?.reasoning)
  to[at++] = log.attempts
  to[at++] = orNaN(log.firstByte)
  to[at++] = orNaN(log.firstToken)
  const { call } = log
  to[at++] = sinceBegan(call, call?.firstAt)
  to[at++] = call === undefined || !log.isStream ? Number.NaN : call.gap
  to[at++] = orNaN(log.queued)
  to[at++] = total
  to[at++] = log.bytesIn
  to[at++] = log.bytesOut
  to[at++] = orNaN(cost)
  to[at++] = orNaN(charge)
  to[at++] = call === undefined ? Number.NaN : call.status
  to[at++] = sinceBegan(call, call?.connectedAt)
  to[at++] = sinceBegan(call, call?.headersAt)
  const words = wordsOf(exchange, usage)
  if (words) batch.words.push([row, words])
}

/** The columns of texts that only the line needs. */
const LINE_TEXTS = columnOf('status') - columnOf('path')

function writeLineTexts(to: Float64Array, from: number, names: TextList, exchange: Exchange, usage: Usage | undefined): void {
  const { log } = exchange
  let at = from
  to[at++] = names.numberOf(exchange.path)
  to[at++] = names.numberOf(exchange.method)
  to[at++] = names.add(clientIdOf(exchange))
  to[at++] = names.numberOf(log.model)
  to[at++] = names.numberOf(usage?.tier)
  to[at++] = names.numberOf(usage?.region)
  to[at] = names.add(log.call && requestIdOf(log.call))
}

const FACTS_WITHOUT_COLUMN = ([...FACTS] as Fact[]).filter(name => name !== 'tier' && name !== 'region')

/** Whether the record of an exchange has all that its line says. A failure, and what services have added, is not in its columns. */
export function hasWholeLine(exchange: Exchange): boolean {
  const { log } = exchange
  if (log.error || log.failed || log.cancelled || log.consulted || log.facts || log.masked || log.isPartial) return false
  const { usage } = spentBy(exchange)
  // The line has only what was reported.
  return usage === log.usage && (usage === undefined || (!hasRare(usage) && FACTS_WITHOUT_COLUMN.every(name => usage[name] === undefined)))
}

function endOf({ log, isAborted }: Exchange): number {
  if (isAborted) return ABORTED
  if (log.isPartial) return PARTIAL
  if (log.status < 400) return log.error ? PARTIAL : OK
  return log.attempts === 0 ? REFUSED : FAILED
}

function wordsOf({ log }: Exchange, usage: Usage | undefined): Words | undefined {
  const { error, failed, dropped, unnamed, labels, cancelled } = log
  const hasMore = usage !== undefined && hasRare(usage)
  if (!error && !failed && !dropped && !labels?.tags && !cancelled && !hasMore) return undefined
  const words: Words = {}
  if (labels?.tags) words.tags = labels.tags
  if (error) {
    words.message = error.message
    if (error.cause !== undefined) words.cause = error.cause
    if (error.reason !== undefined) words.reason = error.reason
  }
  if (failed) words.failed = failed
  if (dropped) words.dropped = dropped
  if (unnamed) words.unnamed = unnamed
  if (cancelled) words.cancelled = cancelled
  if (hasMore) words.meters = rareOf(usage)
  return words
}
