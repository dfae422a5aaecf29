// One of several parallel attempts of an exchange. It can be cancelled alone, and its log entry becomes the exchange's only
// if it is the one that answers.

import type { Exchange } from '../core/exchange.js'
import type { Attempt } from './attempt.js'
import { OtherExchange } from './other-exchange.js'

export class Branch extends OtherExchange {
  /** It has answered, has failed or was cancelled. */
  isOver = false
  /** The last attempt that began. */
  attempt: Attempt | undefined
  private isGivenUp = false
  private aborts: (() => void)[] = []
  private overs: (() => void)[] = []

  constructor(whole: Exchange) {
    super(whole, { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 })
    whole.onAbort(this.abort)
  }

  /** Cancels its calls. */
  cancel(): void {
    this.isOver = true
    this.own.offAbort(this.abort)
    this.abort()
    for (const run of this.overs.splice(0)) run()
  }

  /** Makes it the exchange: its answer goes to the client. */
  adopt(): void {
    this.isOver = true
    this.log = this.own.log
    for (const run of this.overs.splice(0)) this.own.onOver(run)
  }

  private readonly abort = (): void => {
    this.isGivenUp = true
    for (const run of this.aborts.splice(0)) run()
  }

  override get isAborted(): boolean {
    return this.isGivenUp
  }

  override get isEnded(): boolean {
    return this.isGivenUp || this.own.isEnded
  }

  override onAbort(run: () => void): void {
    if (this.isGivenUp) run()
    else this.aborts.push(run)
  }

  override offAbort(run: () => void): void {
    this.aborts = this.aborts.filter(other => other !== run)
  }

  override onOver(run: () => void): void {
    if (this.isOver) this.own.onOver(run)
    else this.overs.push(run)
  }
}
