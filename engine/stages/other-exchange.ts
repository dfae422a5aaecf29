// An exchange that delegates everything to another one, except what a subclass overrides: the base of wrappers between the
// stages and the client.

import type { GatewayError } from '../core/errors.js'
import type { Exchange, LogEntry, Receiver, Sink } from '../core/exchange.js'
import type { Limits } from '../plan.js'

export abstract class OtherExchange implements Exchange {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly query: Exchange['query']
  readonly queryText: string | undefined
  readonly headers: Exchange['headers']
  readonly params: Exchange['params']
  readonly began: number
  readonly startedAt: number
  log: LogEntry

  constructor(
    protected readonly own: Exchange,
    log: LogEntry = own.log,
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
    this.log = log
  }

  get isAborted(): boolean {
    return this.own.isAborted
  }

  get isEnded(): boolean {
    return this.own.isEnded
  }

  address(): string {
    return this.own.address()
  }

  onAbort(run: () => void): void {
    this.own.onAbort(run)
  }

  offAbort(run: () => void): void {
    this.own.offAbort(run)
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

  hold(bytes: number): void {
    this.own.hold(bytes)
  }

  pause(): void {
    this.own.pause()
  }

  resume(): void {
    this.own.resume()
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.own.send(status, headers, body)
  }

  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    return this.own.open(status, headers, length)
  }
}
