// One request and its answer, as the stages see them. The server makes it; only the server knows what is behind it.

import type { Cost, Limits, RoutePlan, Usage } from '../plan.js'
import type { GatewayError } from './errors.js'

export interface Sink {
  /** Writes bytes; false if the client is slow and the writer should wait for `onDrain`. */
  write(chunk: Buffer | string): boolean
  end(chunk?: Buffer | string): void
  /** Breaks the connection off, so that what was sent cannot be taken for a whole answer. */
  destroy(): void
  onDrain(resume: () => void): void
}

/** Takes bytes as they come. */
export interface Receiver {
  data(chunk: Buffer): void
  end(): void
  /** The connection broke, a limit was passed, or a deadline. */
  fail(error: GatewayError): void
}

export interface Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** The query as it came; absent: there is none. */
  readonly queryText?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly params: Readonly<Record<string, string>>
  /** When it began: on the clock of deadlines, and in milliseconds since 1970. */
  readonly began: number
  readonly startedAt: number
  readonly log: LogEntry
  readonly isAborted: boolean
  /** The client's address, as its connection has it; none where that is gone. */
  address(): string
  /** Runs when the client goes away before the answer is complete. */
  onAbort(run: () => void): void
  /** Runs when it is over, however it ended. */
  onOver(run: () => void): void
  /** It is over: nothing more is sent, and its line is written. */
  over(): void
  /** Runs when the gateway wants the answer to end now, with a failure. */
  onEnding(run: (failure: GatewayError) => void): void
  /** Ends the exchange with a failure: told to the client where its answer has not begun, else by breaking it off. */
  endWith(failure: GatewayError): void
  /** The whole body. Throws `too_large` over the limit, without reading the rest, and `timeout` where it comes too slowly. */
  body(limits: Limits): Promise<Buffer>
  /** The body as it comes; it fails with `too_large` over the limit, and with `timeout` where it comes too slowly. */
  receive(limits: Limits, receiver: Receiver): void
  /** Makes the client wait with its body. */
  pause(): void
  resume(): void
  /** A whole answer. */
  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void
  /** An answer that comes in pieces; of `length` bytes where that is known. */
  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink
}

/** What is counted of the key that a request came with. */
export interface Caller {
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

/** What an exchange holds of budgets. */
export interface Held {
  /** The accounts that it counts in, as the ledger is told. */
  readonly purse: string
  /** What has been used, also where nobody told. */
  usage(log: LogEntry): Usage | undefined
}

/** A call of an upstream, as the log sees it. */
export interface Call {
  /** The status of its answer; 0 while there is none. */
  readonly status: number
  /** When it began, when the connection stood, and when its answer's head and the first bytes behind it came; 0 for not yet. */
  readonly began: number
  readonly connectedAt: number
  readonly headersAt: number
  readonly firstAt: number
  /** The header of its answer that says what the provider calls the request. */
  readonly idHeader: string
  header(name: string): string | undefined
}

/** What the log says of a call. Times are milliseconds from its beginning; what did not come is absent. */
export interface CallFacts {
  status?: number
  /** What the provider calls the request. */
  request_id?: string
  connect?: number
  headers?: number
  first_event?: number
}

/** A service that was asked on the way: what came of it, and the milliseconds that it took. */
export interface Consulted {
  call: string
  result: 'passed' | 'refused' | 'changed' | 'failed'
  total: number
  cause?: string
}

/** What the access log says of an exchange; filled as it becomes known. */
/** What an exchange has used and cost, and what the caller is charged for it: nano-units of the currency. */
export interface Spent {
  usage: Usage | undefined
  /** Absent where nobody told the usage, or something has no price. */
  cost: number | undefined
  charge: number | undefined
}

export interface LogEntry {
  route?: RoutePlan
  key?: string
  caller?: Caller
  /** Whether `model` is one of the operator's, and not only what a client wrote. */
  isKnownModel?: boolean
  model?: string
  /** The name with a `*` that it was found by: what it counts as. */
  modelPattern?: string
  target?: string
  /** The dialect that the last target was asked in. */
  upstreamDialect?: string
  isStream?: boolean
  /** What was left out, or changed, for a provider that lacks it. */
  dropped?: readonly string[]
  /** Who and what the client says that it asks for. */
  labels?: Labels
  status: number
  bytesIn: number
  bytesOut: number
  usage?: Usage
  /** What the target that answered costs; absent where it has no prices. */
  price?: Cost | undefined
  /** Headers that tell of budgets. */
  told?: Readonly<Record<string, string>>
  /** Absent where the exchange counts in no budget. */
  held?: Held
  /** What a cost is multiplied by to give what the caller is charged; absent: 1. */
  times?: number
  isPartial?: boolean
  /** Nothing is added to its usage any more; `spent` is what it came to, once somebody has asked. */
  isOver?: true
  spent?: Spent
  /** It was sent beside a client's request, and nobody was answered. */
  isMirror?: boolean
  attempts: number
  /** Milliseconds from the beginning to the first bytes of the answer, and to the first event that carries some of it. */
  firstByte?: number
  firstToken?: number
  error?: { kind: string; message: string; cause?: string }
  /** Why other targets were asked after these. */
  failed?: ({ target: string; kind: string; cause: string } & CallFacts)[]
  /** Targets whose call was given up because another was faster. */
  cancelled?: ({ target: string } & CallFacts)[]
  /** Services that were asked on the way, and what they have to add. */
  consulted?: Consulted[]
  facts?: Record<string, string | number | boolean>
  /** How often patterns have masked something, by their names. */
  masked?: Record<string, number>
  /** The last call of an upstream. */
  call?: Call | undefined
}
