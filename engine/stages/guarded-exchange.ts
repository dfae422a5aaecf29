// An exchange whose answer is looked at before the client gets it. Everything else is the exchange's own.

import { asGatewayError, type GatewayError } from '../core/errors.js'
import type { Exchange, LogEntry, Receiver, Sink } from '../core/exchange.js'
import { describeCause } from '../core/source-map.js'
import type { Limits } from '../plan.js'

/** What looks at answers. */
export interface AnswerGuard {
  /** Gives a whole answer as the client may have it. Rejects with what it is told instead. */
  whole(body: Buffer): Promise<Buffer>
  /** What takes the pieces of an answer that comes bit by bit; `open` begins it. Throws what the client is told instead. */
  stream(type: string, open: () => Sink): Sink
}

const IS_JSON = /^application\/json(?:\s*;|$)/i

export class GuardedExchange implements Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: Exchange['query']
  readonly queryText: string | undefined
  readonly headers: Exchange['headers']
  readonly params: Exchange['params']
  readonly began: number
  readonly startedAt: number
  readonly log: LogEntry

  constructor(
    private readonly own: Exchange,
    private readonly guard: AnswerGuard,
  ) {
    this.id = own.id
    this.method = own.method
    this.path = own.path
    this.query = own.query
    this.queryText = own.queryText
    this.headers = own.headers
    this.params = own.params
    this.began = own.began
    this.startedAt = own.startedAt
    this.log = own.log
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    const { own } = this
    if (status >= 300 || !IS_JSON.test(headers['content-type'] ?? '')) {
      own.send(status, headers, body)
      return
    }
    this.guard.whole(typeof body === 'string' ? Buffer.from(body) : body).then(
      whole => own.send(status, headers, whole),
      (thrown: unknown) => {
        if (own.isAborted) return
        const error = asGatewayError(thrown)
        const { kind, message, cause } = error
        own.log.error = { kind, message, ...(cause !== undefined && { cause: describeCause(cause) }) }
        own.endWith(error)
      },
    )
  }

  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    const begin = (): Sink => this.own.open(status, headers, length)
    return status < 300 ? this.guard.stream(headers['content-type'] ?? '', begin) : begin()
  }

  get isAborted(): boolean {
    return this.own.isAborted
  }

  address(): string {
    return this.own.address()
  }

  onAbort(run: () => void): void {
    this.own.onAbort(run)
  }

  onOver(run: () => void): void {
    this.own.onOver(run)
  }

  over(): void {
    this.own.over()
  }

  onEnding(run: (failure: GatewayError) => void): void {
    this.own.onEnding(run)
  }

  endWith(failure: GatewayError): void {
    this.own.endWith(failure)
  }

  body(limits: Limits): Promise<Buffer> {
    return this.own.body(limits)
  }

  receive(limits: Limits, receiver: Receiver): void {
    this.own.receive(limits, receiver)
  }

  pause(): void {
    this.own.pause()
  }

  resume(): void {
    this.own.resume()
  }
}
