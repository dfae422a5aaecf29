// One request and its answer, as the stages see them. The server implements it, so that only the server knows its library.

import type { Cost, Limits, RoutePlan, Usage } from '../plan.js'
import type { GatewayError } from './errors.js'

/** The status of an exchange whose client went away. */
export const GONE = 499

export interface Sink {
  /** Writes bytes; returns false if the client is slow and the writer should wait for `onDrain`. */
  write(chunk: Buffer | string): boolean
  end(chunk?: Buffer | string): void
  /** Breaks the connection off, so that the client cannot take a part for the whole answer. */
  destroy(): void
  onDrain(resume: () => void): void
}

/** Receives bytes as they arrive. */
export interface Receiver {
  data(chunk: Buffer): void
  end(): void
  /** The connection broke, or a limit or a deadline was exceeded. */
  fail(error: GatewayError): void
}

export interface Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** The query as it was sent; undefined: none. */
  readonly queryText?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly params: Readonly<Record<string, string>>
  /** When it began: on the clock of deadlines, and in milliseconds since 1970. */
  readonly began: number
  readonly startedAt: number
  readonly log: LogEntry
  /** The client has gone away. */
  readonly isAborted: boolean
  /** Nobody waits for an answer any more: the client has gone away, the gateway ended the exchange, or it is over. */
  readonly isEnded: boolean
  /** The client's address; empty if the connection is closed. */
  address(): string
  /** Runs if the client goes away before the answer is complete, or the gateway ends the exchange. */
  onAbort(run: () => void): void
  /** Removes a function that `onAbort` was given: an exchange can outlast many calls, and keeps what their functions refer to. */
  offAbort(run: () => void): void
  /** Runs when the exchange has ended, for whatever reason. */
  onOver(run: () => void): void
  /** Ends the exchange: nothing more is sent, and its log line is written. */
  over(): void
  /** Runs when the gateway wants the answer to end at once, with a failure. */
  onEnding(run: (failure: GatewayError) => void): void
  /** Ends the exchange with a failure: as the answer if none has begun, else by breaking the connection off. */
  endWith(failure: GatewayError): void
  /**
   * The whole body. Rejects with `too_large` over the limit, without reading the rest, and with `timeout` if it arrives too
   * slowly.
   */
  body(limits: Limits): Promise<Buffer>
  /** Streams the body; fails with `too_large` over the limit, and with `timeout` if it arrives too slowly. */
  receive(limits: Limits, receiver: Receiver): void
  /**
   * Counts memory that the request takes beside its body, until the exchange has ended. Throws `unavailable` if the bodies of
   * all requests take too much already.
   */
  hold(bytes: number): void
  /** Pauses the client's body. */
  pause(): void
  resume(): void
  /** Sends a whole answer. */
  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void
  /** Begins an answer in pieces; of `length` bytes if that is known. */
  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink
}

/** Ignores what arrives. */
export const NOBODY: Receiver = { data: () => {}, end: () => {}, fail: () => {} }

/** A body that is read while it arrives. */
export type Arriving = Pick<Exchange, 'receive' | 'pause' | 'resume'>

/** The metrics of the key that a request came with. */
interface Caller {
  id?: number
  team?: string
  groups: readonly string[]
  tagList?: string
}

export interface Labels {
  endUser?: string
  session?: string
  tags?: readonly string[]
}

/** The use of an exchange as its budgets, or the ledger, have to know it. */
export interface Held {
  /** The accounts that it is charged to, in the ledger's form; undefined: none. */
  readonly purse: string | undefined
  /** The usage, reported or estimated. */
  usage(log: LogEntry): Usage | undefined
  /** Counts the events of a stream as they arrive: a block of whole events. */
  note(block: Buffer): void
}

/** A call of an upstream, for the log. */
export interface Call {
  /** The status of the response; 0 before it. */
  readonly status: number
  /** When it began, when it was connected, and when the response's head and first bytes arrived; 0 before. */
  readonly began: number
  readonly connectedAt: number
  readonly headersAt: number
  readonly firstAt: number
  /** The longest silence in a stream so far: milliseconds. */
  readonly gap: number
  /** The response header with the provider's id of the request. */
  readonly idHeader: string
  header(name: string): string | undefined
}

/** The log's facts of a call. Times are milliseconds from its beginning; absent if not reached. */
export interface CallFacts {
  status?: number
  /** The provider's id of the request. */
  request_id?: string
  connect?: number
  headers?: number
  first_event?: number
}

/** A service that was consulted for the request: its result, and its duration in milliseconds. */
export interface Consulted {
  call: string
  result: 'passed' | 'refused' | 'changed' | 'failed'
  total: number
  cause?: string
}

/** What an exchange used and cost, and the caller's charge: nano-units of the currency. */
export interface Spent {
  usage: Usage | undefined
  /** Undefined if the usage was not reported, or a part of it has no price. */
  cost: number | undefined
  charge: number | undefined
}

/** The facts for the access log, filled in as they become known. */
export interface LogEntry {
  route?: RoutePlan
  key?: string
  caller?: Caller
  /** Whether `model` is in the configuration, and not only a client's text. */
  isKnownModel?: boolean
  model?: string
  /** The wildcard name of the model entry that matched: metrics use it. */
  modelPattern?: string
  target?: string
  /** The dialect of the last target. */
  upstreamDialect?: string
  isStream?: boolean
  /** Fields that were omitted or changed because the provider lacks them. */
  dropped?: readonly string[]
  /** Those of them that the schema of the client's dialect does not name. */
  unnamed?: readonly string[]
  /** The end user, conversation and tags that the client names. */
  labels?: Labels
  status: number
  bytesIn: number
  bytesOut: number
  usage?: Usage
  /** The answer reported no usage: that is an estimate. */
  isEstimated?: true
  /** The prices of the target that answered; undefined if it has none. */
  price?: Cost | undefined
  /** Headers that report budgets. */
  told?: Readonly<Record<string, string>>
  /** Undefined if nothing counts on an estimate of the usage. */
  held?: Held
  /** The factor from cost to charge; undefined: 1. */
  times?: number
  isPartial?: boolean
  /** The exchange has ended, and its usage no longer changes. */
  isOver?: true
  /** Computed at most once after the end. */
  spent?: Spent
  /** A copy of a client's request, whose answer nobody receives. */
  isMirror?: boolean
  attempts: number
  /** Milliseconds that it waited for slots of targets; undefined: none. */
  queued?: number
  /** Milliseconds from the beginning to the first bytes of the answer, and to the first event with content. */
  firstByte?: number
  firstToken?: number
  error?: { kind: string; message: string; cause?: string; reason?: string | undefined }
  /** The targets that failed before the one that answered. */
  failed?: ({ target: string; kind: string; cause: string } & CallFacts)[]
  /** Targets whose call was cancelled because another was faster. */
  cancelled?: ({ target: string } & CallFacts)[]
  /** Services that were consulted, and what they add to the log. */
  consulted?: Consulted[]
  facts?: Record<string, string | number | boolean>
  /** How often each pattern has redacted something, by its name. */
  masked?: Record<string, number>
  /** The last call of an upstream. */
  call?: Call | undefined
}
