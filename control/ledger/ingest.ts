// Writes records into the ledger: in order, many in a transaction, and into the spool while the store is slow or unreachable. An
// acknowledged record is either committed or spooled.

import type { Logger } from 'pino'
import { LOST } from '../../engine/control/records.js'
import { bookSpending, type Spending } from '../budgets/treasury.js'
import type { Spool } from '../spool.js'
import { LEDGER } from '../store/columns.js'
import { type Keeper, StoreUnreachable } from '../store/keeper.js'
import { isOfValue } from '../store/refused.js'
import type { LedgerTable } from '../store/tables.js'
import { turn } from '../turns.js'
import { recordedPrice } from './price.js'
import type { ExchangeRecord } from './record.js'
import { type Entry, rowsOf } from './rows.js'
import { type Booking, writeEntries } from './write.js'

/** Records in one transaction. */
const MOST_AT_ONCE = 2_048
/** Records that wait in memory; further ones go into the spool. */
const MOST_WAITING = 8_192
/** Milliseconds that records wait for the store only in memory; then the spool has a copy of them until they are committed. */
const SLOW = 50
/** Milliseconds between attempts while the store is unreachable. */
const AGAIN = 500
/** The same until the store has been opened: an attempt costs nothing then, and a worker may be gone soon. */
const UNOPENED_AGAIN = 50
/** Milliseconds of silence after which an instance counts as ended. */
export const INSTANCE_GONE = 600_000

export interface IngestOptions {
  keeper: Keeper
  spool: Spool
  log: Logger
  /** The id of this instance in the store, known after the store was opened. */
  instance(): number
}

const UNKNOWN = Object.fromEntries(Object.keys(LEDGER).map(name => [name, null]))

interface Job {
  records: readonly ExchangeRecord[]
  timer: NodeJS.Timeout
  /** The copy in the spool. */
  copy: number | undefined
  done(isKept: boolean): void
}

/** The rollups of several instances have separate rows. */
const PARTS = 16

export class Ingest {
  private readonly jobs: Job[] = []
  private waiting = 0
  private running: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private isClosed = false
  /** Open rows of this instance, by worker. */
  private readonly opened = new Map<string, Set<string>>()
  /** The last reports of exchanges under way that the store has not accepted, by exchange. */
  private readonly unnoted = new Map<string, { worker: string; record: ExchangeRecord }>()
  private noting: NodeJS.Timeout | undefined
  private oldest: number | undefined

  constructor(private readonly options: IngestOptions) {}

  /** Milliseconds that the oldest waiting record has waited. */
  get lag(): number {
    return this.oldest === undefined ? 0 : Date.now() - this.oldest
  }

  /** Takes records; true once they are safe, false if there is no room for them. */
  add(records: readonly ExchangeRecord[]): Promise<boolean> {
    this.supersede(records)
    if (this.waiting >= MOST_WAITING) return Promise.resolve(this.options.spool.add(records) !== undefined)
    this.oldest ??= Date.now()
    this.waiting += records.length
    return new Promise(resolve => {
      const job: Job = { records, timer: setTimeout(() => this.copy(job), SLOW), copy: undefined, done: resolve }
      this.jobs.push(job)
      this.run()
    })
  }

  /** Copies records that wait for the store into the spool, so that they are safe although the store is slow. */
  private copy(job: Job): void {
    job.copy = this.options.spool.add(job.records)
    if (job.copy !== undefined) job.done(true)
  }

  private run(): void {
    this.running ??= this.work().finally(() => {
      this.running = undefined
      if (this.jobs.length > 0) this.run()
      else this.drainSoon()
    })
  }

  private async work(): Promise<void> {
    while (this.jobs.length > 0) {
      const jobs: Job[] = []
      let count = 0
      while (this.jobs.length > 0 && count < MOST_AT_ONCE) {
        const job = this.jobs.shift() as Job
        jobs.push(job)
        count += job.records.length
      }
      const records = jobs.flatMap(job => job.records)
      const isWritten = await this.write(records)
      this.waiting -= count
      for (const job of jobs) this.finish(job, isWritten)
    }
    this.oldest = undefined
  }

  /** Ends a job: what was written needs no copy, what was not needs one. */
  private finish(job: Job, isWritten: boolean): void {
    clearTimeout(job.timer)
    if (!isWritten && job.copy === undefined) this.copy(job)
    // A copy that stays is written again, and counted once.
    if (isWritten && job.copy !== undefined) this.options.spool.remove(job.copy)
    job.done(isWritten || job.copy !== undefined)
  }

  /** Returns false if the store did not accept them. */
  private async write(records: readonly ExchangeRecord[]): Promise<boolean> {
    const { keeper } = this.options
    try {
      const store = keeper.get()
      const entries = await rowsOf(records, store)
      await writeEntries(store, entries, this.options.instance() % PARTS, [this.closeRows, this.bookMoney])
      keeper.succeeded()
      return true
    } catch (error) {
      if (isOfValue(error)) return this.writeApart(records, error)
      keeper.failed(error)
      return false
    }
  }

  /** Writes records of which the store refuses one in halves, until that one is alone: the others do not wait for it. */
  private async writeApart(records: readonly ExchangeRecord[], error: unknown): Promise<boolean> {
    if (records.length <= 1) {
      const { spool, log } = this.options
      const cause = String(error)
      for (const record of records) {
        log.error({ exchange: record?.id, cause }, 'the store refuses a record, which is set aside: table aside of the spool')
        spool.keepRefused(record, cause)
      }
      return true
    }
    const middle = records.length >> 1
    return (await this.write(records.slice(0, middle))) && (await this.write(records.slice(middle)))
  }

  // The spool ------------------------------------------------------------------------------------------------------

  /** Moves the spooled records into the store, oldest first, as soon as it accepts them. */
  drainSoon(): void {
    if (this.timer || this.isClosed || this.options.spool.isEmpty) return
    this.timer = setTimeout(
      () => {
        this.timer = undefined
        if (this.running) this.drainSoon()
        else {
          this.running = this.drain().finally(() => {
            this.running = undefined
            if (this.jobs.length > 0) this.run()
            else this.drainSoon()
          })
        }
      },
      this.options.keeper.up && !this.options.spool.isBroken ? 0 : AGAIN,
    )
  }

  private async drain(): Promise<void> {
    const { spool, log } = this.options
    while (!this.isClosed && this.jobs.length === 0) {
      const next = spool.next()
      if (next === undefined) return
      if (next.records === undefined) {
        log.error({ batch: next.id }, 'records of the spool cannot be read, and are set aside: table aside of the spool')
        if (!spool.setAside(next.id, 'cannot be read')) return
      } else if (!(await this.write(next.records)) || !spool.remove(next.id)) return
    }
  }

  // Exchanges under way ------------------------------------------------------------------------------------------

  /** Notes exchanges that last longer than most. Workers report them rarely, so what cannot be noted now is kept for later. */
  async open(worker: string, records: readonly ExchangeRecord[]): Promise<void> {
    const { keeper } = this.options
    this.supersede(records)
    try {
      const store = keeper.get()
      // The cost so far, which is charged to its budgets if the exchange is lost.
      const entries = await rowsOf(records, store, record => (record.accounts === undefined ? undefined : recordedPrice(record)))
      const at = Date.now()
      const instance = this.options.instance()
      const known = this.opened.get(worker) ?? new Set()
      this.opened.set(worker, known)
      for (const { row } of entries) known.add(row.id)
      await store.db
        .insertInto('open')
        .values(entries.map(({ row, spending }) => ({ id: row.id, instance, worker, at, row: JSON.stringify({ ...row, spending }) })))
        .onConflict(conflict =>
          conflict.column('id').doUpdateSet(expression => ({ at: expression.ref('excluded.at'), row: expression.ref('excluded.row') })),
        )
        .execute()
    } catch (error) {
      // A store that has not been opened yet is not out of order.
      const isUnopened = error instanceof StoreUnreachable
      // It will be refused again, and be set aside when it has ended.
      if (isOfValue(error)) return
      if (!isUnopened) keeper.failed(error)
      for (const record of records) if (this.unnoted.size < MOST_WAITING) this.unnoted.set(record.id, { worker, record })
      if (!this.isClosed) this.noting ??= setTimeout(() => this.noteAgain(), isUnopened ? UNOPENED_AGAIN : AGAIN)
    }
  }

  /** Drops the reports of exchanges of which something newer is known. */
  private supersede(records: readonly ExchangeRecord[]): void {
    if (this.unnoted.size > 0) for (const { id } of records) this.unnoted.delete(id)
  }

  private noteAgain(): void {
    this.noting = undefined
    const workers = new Map<string, ExchangeRecord[]>()
    for (const { worker, record } of this.unnoted.values()) {
      const records = workers.get(worker)
      if (records) records.push(record)
      else workers.set(worker, [record])
    }
    this.unnoted.clear()
    for (const [worker, records] of workers) void this.open(worker, records)
  }

  /** Written rows are no longer open. */
  private readonly closeRows: Booking = async (trx, rows) => {
    if (this.opened.size === 0) return
    const over: string[] = []
    for (const { id } of rows) {
      for (const known of this.opened.values()) if (known.delete(id)) over.push(id)
    }
    if (over.length > 0) await trx.deleteFrom('open').where('id', 'in', over).execute()
  }

  /** Books the charges of rows in their accounts. */
  private readonly bookMoney: Booking = async (trx, _rows, entries) => {
    const list: Spending[] = []
    for (const { row, spending } of entries)
      if (spending && row.charge !== null && row.charge > 0) list.push({ ...spending, charge: row.charge })
    if (list.length > 0) await bookSpending(this.options.keeper.get(), trx, this.options.instance(), list)
  }

  /** Whether nothing waits to be written. */
  get isIdle(): boolean {
    return this.jobs.length === 0 && this.running === undefined && this.options.spool.isEmpty
  }

  /** A worker has ended: its exchanges under way are written as lost. */
  async writeLost(worker: string): Promise<void> {
    this.opened.delete(worker)
    await this.writeLostWhere(['worker', worker])
  }

  /**
   * Writes as lost: the exchanges of an earlier run of this instance, except those of workers that are back, and those of
   * ended instances.
   */
  async writeOldLost(present: ReadonlySet<string>): Promise<void> {
    const store = this.options.keeper.get()
    const mine = await store.db.selectFrom('open').select('worker').distinct().where('instance', '=', this.options.instance()).execute()
    for (const { worker } of mine) if (!present.has(worker)) await this.writeLostWhere(['worker', worker])
    const gone = await store.db
      .selectFrom('instance')
      .select('id')
      .where('seen_at', '<', Date.now() - INSTANCE_GONE)
      .execute()
    for (const { id } of gone) await this.writeLostWhere(['instance', id])
  }

  private async writeLostWhere([column, value]: ['worker', string] | ['instance', number]): Promise<void> {
    const { keeper, log } = this.options
    try {
      const store = keeper.get()
      for (;;) {
        const rows = await store.db.selectFrom('open').select(['id', 'row']).where(column, '=', value).limit(MOST_AT_ONCE).execute()
        if (rows.length === 0) return
        await turn()
        const entries = rows.map((open): Entry => {
          const { spending, ...row } = JSON.parse(open.row) as LedgerTable & Pick<Entry, 'spending'>
          // An earlier version may have written it, with fewer columns.
          return { row: { ...UNKNOWN, ...row, ended: LOST, status: row.status || 500 }, detail: undefined, spending }
        })
        const ids = rows.map(row => row.id)
        const written = await writeEntries(store, entries, this.options.instance() % PARTS, [
          this.bookMoney,
          async trx => void (await trx.deleteFrom('open').where('id', 'in', ids).execute()),
        ])
        // Those that have a row ended while no control process knew that they were under way.
        if (written.length > 0)
          log.warn({ [column]: value, exchanges: written.length }, 'exchanges were lost with the process that served them')
      }
    } catch (error) {
      keeper.failed(error)
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    clearTimeout(this.noting)
    await this.running
  }
}
