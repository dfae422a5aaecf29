// Records of exchanges, gathered to batches that are kept until the control process has acknowledged them.

import type { Exchange } from '../core/exchange.js'
import type { FromWorker } from './messages.js'
import { BATCH, type Batch, OpenBatch, writeRecord } from './records.js'

/** Milliseconds. */
const GATHER = 20
const LAST_ACK = 3_000
/** How soon a batch that was refused is sent again. */
const AGAIN = 500

/** Records kept while the control process does not take them. */
const MOST = 65_536

export class Outbox {
  private batch = new OpenBatch()
  /** The buffer of a batch that has been acknowledged. */
  private spare: Batch['numbers'] | undefined
  private timer: NodeJS.Timeout | undefined
  private readonly unacknowledged = new Map<number, Batch>()
  /** Those of them that were refused, and that have not been acknowledged since. */
  private readonly refusedOnes = new Set<number>()
  private again: NodeJS.Timeout | undefined
  /** Records in `unacknowledged`. */
  private waiting = 0
  private nextBatch = 1
  private lost = 0
  private whenEmpty: (() => void) | undefined

  /** @param send sends a message, if there is a connection */
  constructor(private readonly send: (message: FromWorker) => void) {}

  /** The records that are kept. */
  get size(): number {
    return this.waiting + this.batch.ids.length
  }

  /**
   * Adds the record of an exchange that has ended; `total` is its duration in milliseconds, and `hasLine` whether it asks for a
   * line of the access log. Returns whether there was room for it.
   */
  add(exchange: Exchange, total: number, hasLine: boolean): boolean {
    if (this.size >= MOST) {
      this.lost++
      return false
    }
    writeRecord(this.batch, exchange, total, hasLine)
    if (this.batch.ids.length === BATCH) this.leave()
    else this.timer ??= setTimeout(() => this.leave(), GATHER)
    return true
  }

  /** Sends records of exchanges under way, which nobody acknowledges. */
  tellOpen(exchanges: readonly [Exchange, total: number][]): void {
    for (let from = 0; from < exchanges.length; from += BATCH) {
      const batch = new OpenBatch()
      for (const [exchange, total] of exchanges.slice(from, from + BATCH)) writeRecord(batch, exchange, total, false)
      this.send({ type: 'open', ...batch.full() })
    }
  }

  /** Tells how many records there was no room for. */
  tellLost(): void {
    if (this.lost > 0) this.send({ type: 'lost', count: this.lost })
    this.lost = 0
  }

  acknowledged(seq: number): void {
    const batch = this.unacknowledged.get(seq)
    if (batch === undefined) return
    this.unacknowledged.delete(seq)
    this.waiting -= batch.ids.length
    this.spare = new Float64Array(batch.numbers.buffer)
    if (this.refusedOnes.delete(seq)) this.sendRefused()
    if (this.unacknowledged.size === 0) this.whenEmpty?.()
  }

  /** The control process could keep a batch nowhere. The oldest one is tried again, and the others when it is acknowledged. */
  refused(seq: number): void {
    if (!this.unacknowledged.has(seq)) return
    this.refusedOnes.add(seq)
    this.again ??= setTimeout(() => this.sendRefused(), AGAIN).unref()
  }

  private sendRefused(): void {
    clearTimeout(this.again)
    this.again = undefined
    const [seq] = this.refusedOnes
    if (seq !== undefined) this.sendBatch(seq, this.unacknowledged.get(seq) as Batch)
  }

  /** Sends all batches that have not been acknowledged. */
  resend(): void {
    for (const [seq, batch] of this.unacknowledged) this.sendBatch(seq, batch)
  }

  /** Sends the remaining records and waits briefly for their acknowledgement. Resolves with those that got none. */
  async empty(): Promise<Batch[]> {
    this.leave()
    if (this.unacknowledged.size > 0) await this.allAcknowledged()
    return [...this.unacknowledged.values()]
  }

  private async allAcknowledged(): Promise<void> {
    await new Promise<void>(done => {
      const late = setTimeout(done, LAST_ACK)
      this.whenEmpty = () => {
        clearTimeout(late)
        done()
      }
    })
  }

  private leave(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const { batch } = this
    if (batch.ids.length === 0) return
    this.batch = new OpenBatch(this.spare)
    this.spare = undefined
    const seq = this.nextBatch++
    const full = batch.full()
    this.unacknowledged.set(seq, full)
    this.waiting += batch.ids.length
    this.sendBatch(seq, full)
  }

  private sendBatch(seq: number, batch: Batch): void {
    this.send({ type: 'batch', seq, ...batch })
  }
}
