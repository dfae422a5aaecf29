// An exchange whose answer is checked before the client gets it. All else is delegated to the original exchange.

import { asGatewayError } from '../core/errors.js'
import type { Exchange, Sink } from '../core/exchange.js'
import { failureOf } from '../core/log.js'
import { OtherExchange } from './other-exchange.js'

/** Checks answers. */
export interface AnswerGuard {
  /** Returns a whole answer as the client may get it. Rejects with the error that the client gets instead. */
  whole(body: Buffer): Promise<Buffer>
  /**
   * What takes the pieces of an answer that comes bit by bit; `open` begins it, and is told whether its length may change. Throws
   * what the client is told instead.
   */
  stream(type: string, open: (mayChange: boolean) => Sink): Sink
}

const IS_JSON = /^application\/json(?:\s*;|$)/i

export class GuardedExchange extends OtherExchange {
  constructor(
    own: Exchange,
    private readonly guard: AnswerGuard,
  ) {
    super(own)
  }

  override send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
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
        own.log.error = failureOf(error)
        own.endWith(error)
      },
    )
  }

  override open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    if (status >= 300) return this.own.open(status, headers, length)
    // What is masked is not as long as it was.
    return this.guard.stream(headers['content-type'] ?? '', mayChange => this.own.open(status, headers, mayChange ? undefined : length))
  }
}
