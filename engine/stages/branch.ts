// One of several ways in which an exchange is tried at a time: it can be given up alone, and what is said of it in the log
// is the exchange's only where it is the one that answers.

import type { GatewayError } from '../core/errors.js'
import type { Exchange, LogEntry, Receiver, Sink } from '../core/exchange.js'
import type { Limits } from '../plan.js'

export class Branch implements Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: Exchange['query']
  readonly queryText: string | undefined
  readonly headers: Exchange['headers']
  readonly params: Exchange['params']
  readonly began: number
  readonly startedAt: number
  log: LogEntry = { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 }
  isAborted = false
  /** It has answered, has failed or was given up. */
  isOver = false
  private aborts: (() => void)[] = []
  private overs: (() => void)[] = []

  constructor(private readonly whole: Exchange) {
    this.id = whole.id
    this.method = whole.method
    this.path = whole.path
    this.query = whole.query
    this.queryText = whole.queryText
    this.headers = whole.headers
    this.params = whole.params
    this.began = whole.began
    this.startedAt = whole.startedAt
    whole.onAbort(() => this.abort())
  }

  /** Gives it up: its calls are cancelled. */
  cancel(): void {
    this.isOver = true
    this.abort()
    for (const run of this.overs.splice(0)) run()
  }

  /** It answers: from now on it is the exchange. */
  adopt(): void {
    this.isOver = true
    this.log = this.whole.log
    for (const run of this.overs.splice(0)) this.whole.onOver(run)
  }

  private abort(): void {
    this.isAborted = true
    for (const run of this.aborts.splice(0)) run()
  }

  onAbort(run: () => void): void {
    if (this.isAborted) run()
    else this.aborts.push(run)
  }

  onOver(run: () => void): void {
    if (this.isOver) this.whole.onOver(run)
    else this.overs.push(run)
  }

  address(): string {
    return this.whole.address()
  }

  over(): void {
    this.whole.over()
  }

  onEnding(run: (failure: GatewayError) => void): void {
    this.whole.onEnding(run)
  }

  endWith(failure: GatewayError): void {
    this.whole.endWith(failure)
  }

  body(limits: Limits): Promise<Buffer> {
    return this.whole.body(limits)
  }

  receive(limits: Limits, receiver: Receiver): void {
    this.whole.receive(limits, receiver)
  }

  pause(): void {
    this.whole.pause()
  }

  resume(): void {
    this.whole.resume()
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.whole.send(status, headers, body)
  }

  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    return this.whole.open(status, headers, length)
  }
}
