// One of several ways in which an exchange is tried at a time: it can be given up alone, and what is said of it in the log
// is the exchange's only where it is the one that answers.

import type { Exchange } from '../core/exchange.js'
import { OtherExchange } from './other-exchange.js'

export class Branch extends OtherExchange {
  /** It has answered, has failed or was given up. */
  isOver = false
  private isGivenUp = false
  private aborts: (() => void)[] = []
  private overs: (() => void)[] = []

  constructor(whole: Exchange) {
    super(whole, { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 })
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
    this.log = this.own.log
    for (const run of this.overs.splice(0)) this.own.onOver(run)
  }

  private abort(): void {
    this.isGivenUp = true
    for (const run of this.aborts.splice(0)) run()
  }

  override get isAborted(): boolean {
    return this.isGivenUp
  }

  override onAbort(run: () => void): void {
    if (this.isGivenUp) run()
    else this.aborts.push(run)
  }

  override onOver(run: () => void): void {
    if (this.isOver) this.own.onOver(run)
    else this.overs.push(run)
  }
}
