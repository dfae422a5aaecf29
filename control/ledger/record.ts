// A worker's record with its names as texts: the source of the ledger, the metrics and the prices.

import { maskIssuedIn } from '../../engine/control/key-form.js'
import { columnOf as at, type Batch, ESTIMATED, HEDGED, MIRROR, STREAM, WIDTH, type Words } from '../../engine/control/records.js'
import { QUANTITIES } from '../store/columns.js'

export interface ExchangeRecord {
  id: string
  /** The worker that served it. */
  worker?: string | undefined
  /** When it began: milliseconds since 1970. */
  at: number
  key?: string | undefined
  team?: string | undefined
  group?: string | undefined
  /** One of the operator's models; undefined if the client named another. */
  model?: string | undefined
  /** `upstream/model` of the last target. */
  target?: string | undefined
  route?: string | undefined
  dialect?: string | undefined
  upstreamDialect?: string | undefined
  /** The kind of failure. */
  error?: string | undefined
  /** A JSON list. */
  tags?: string | undefined
  /** The facts that its price depends on: the region, and others as a JSON text. */
  region?: string | undefined
  facts?: string | undefined
  status: number
  /** An index of `ENDED`. */
  ended: number
  isStream: boolean
  /** Whether its usage was estimated. */
  isEstimated: boolean
  /** A mirrored copy, whose answer nobody received. */
  isMirror?: boolean
  /** One of its two targets was cancelled. */
  isHedged?: boolean
  /** Tokens; undefined if they were not reported. */
  input?: number | undefined
  output?: number | undefined
  cached?: number | undefined
  cacheWrite?: number | undefined
  reasoning?: number | undefined
  attempts: number
  /** Milliseconds from its beginning. */
  firstByte?: number | undefined
  firstToken?: number | undefined
  /** Milliseconds of the last call to its first bytes, of the longest silence in a stream, and of waiting for slots. */
  upstream?: number | undefined
  gap?: number | undefined
  queued?: number | undefined
  total: number
  bytesIn: number
  bytesOut: number
  /** The operator's cost and the caller's charge: nano-units of the currency; undefined without a price. */
  cost?: number | undefined
  charge?: number | undefined
  /** The end user and the run, as the client names them. */
  endUser?: string | undefined
  session?: string | undefined
  /** The accounts of the budgets that it counts in: a list of JSON. */
  accounts?: string | undefined
  words?: Words | undefined
}

/** Whether there is something to pay for: without a cost, it is unpriced. A request that is only passed on has nothing but itself. */
export function hasQuantity({ input, output, words }: ExchangeRecord): boolean {
  const meters = words?.meters
  return input !== undefined || output !== undefined || (meters !== undefined && QUANTITIES.some(name => meters[name] !== undefined))
}

const [AT, KEY, TEAM, GROUP, MODEL, TARGET] = [at('at'), at('key'), at('team'), at('group'), at('model'), at('target')]
const [ROUTE, DIALECT, UPSTREAM_DIALECT, ERROR] = [at('route'), at('dialect'), at('upstream_dialect'), at('error')]
const [TAGS, REGION, FACTS] = [at('tags'), at('region'), at('facts')]
const [END_USER, SESSION, ACCOUNTS] = [at('end_user'), at('session'), at('purse')]
/** From here on the columns are read in order. */
const STATUS = at('status')
const FLAGS = at('flags')

/** The records of a batch. */
export function readBatch(batch: Batch, worker?: string): ExchangeRecord[] {
  const { numbers, texts } = batch
  const words = new Map(batch.words.map(([row, said]) => [row, maskIssuedIn(said)]))
  return batch.ids.map((id, row) => {
    const base = row * WIDTH
    const name = (index: number): string | undefined => texts[(numbers[base + index] as number) - 1]
    let index = base + STATUS
    const next = (): number => numbers[index++] as number
    const flags = numbers[base + FLAGS] as number
    const known = (): number | undefined => {
      const value = numbers[index++] as number
      return Number.isNaN(value) ? undefined : value
    }
    return {
      id,
      worker,
      at: numbers[base + AT] as number,
      key: name(KEY),
      team: name(TEAM),
      group: name(GROUP),
      model: name(MODEL),
      target: name(TARGET),
      route: name(ROUTE),
      dialect: name(DIALECT),
      upstreamDialect: name(UPSTREAM_DIALECT),
      error: name(ERROR),
      tags: name(TAGS),
      region: name(REGION),
      facts: name(FACTS),
      status: next(),
      ended: next(),
      isStream: (next() & STREAM) !== 0,
      isEstimated: (flags & ESTIMATED) !== 0,
      isMirror: (flags & MIRROR) !== 0,
      isHedged: (flags & HEDGED) !== 0,
      input: known(),
      output: known(),
      cached: known(),
      cacheWrite: known(),
      reasoning: known(),
      attempts: next(),
      firstByte: known(),
      firstToken: known(),
      upstream: known(),
      gap: known(),
      queued: known(),
      total: next(),
      bytesIn: next(),
      bytesOut: next(),
      cost: known(),
      charge: known(),
      endUser: name(END_USER),
      session: name(SESSION),
      accounts: name(ACCOUNTS),
      words: words.get(row),
    }
  })
}
