// The workers of this instance, each on a connection of the socket: they send records, and ask for keys.

import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Logger } from 'pino'
import type { MoneyGranted } from '../engine/budgets/account.js'
import { PATIENCE } from '../engine/control/asks.js'
import { onFrames, sendFrame } from '../engine/control/frames.js'
import type { FromControl, FromWorker, Gauges, Question } from '../engine/control/messages.js'
import { type Batch, FORM } from '../engine/control/records.js'
import type { Question as MoneyQuestion } from './budgets/treasury.js'
import type { Changes, Forgotten } from './keys/changes.js'
import type { Lookup } from './keys/lookup.js'
import type { Ingest } from './ledger/ingest.js'
import { type ExchangeRecord, readBatch } from './ledger/record.js'
import { Turns } from './turns.js'

/** Milliseconds for a worker to reconnect before its exchanges under way count as lost. */
const GRACE = 3_000

/** Questions about what is kept, and how many of them are answered at once. */
const READS: ReadonlySet<Question['name']> = new Set(['kept', 'items', 'look'] as const)
const MOST_READERS = 2

export interface Worker {
  id: string
  pid: number
  socket: Socket
  gauges: Gauges | undefined
  config: string
  /** The position of the last change that it had heard of when it connected. */
  seq: number | undefined
  /** The pending question for each account. */
  granting: Map<string, Promise<void>>
  /** Looks of `endStuck` since its last message. */
  silent: number
}

export interface WorkersOptions {
  path: string
  /** The run of the gateway whose workers are served. */
  run: string
  ingest: Ingest
  /** Undefined until the store has been opened. */
  changes(): Changes | undefined
  /** Rejects if the store cannot answer. */
  lookUp: Lookup
  /** Rejects if the store cannot answer. */
  answer(question: Question): Promise<unknown>
  grant(question: MoneyQuestion): Promise<MoneyGranted>
  /** A worker has ended, and its exchanges under way have been written. */
  onGone(worker: string): void
  /** Every record, once, with its batch. */
  onRecords(records: readonly ExchangeRecord[], batch: Batch): void
  onLost(count: number): void
  log: Logger
}

export class Workers {
  private readonly connected = new Map<Socket, Worker>()
  private readonly server: Server
  /** The last counted batch of each worker: a repeated one is not counted again. */
  private readonly counted = new Map<string, number>()
  private readonly leaving = new Map<string, NodeJS.Timeout>()
  /** Questions whose answers are long. */
  private readonly readers = new Turns(MOST_READERS)
  /** The records in the batches of each worker that could be kept nowhere, and that it has not sent again. */
  private readonly refused = new Map<string, Map<number, number>>()

  constructor(private readonly options: WorkersOptions) {
    this.server = createServer(socket => this.accept(socket))
  }

  /** Listens; removes the socket of an earlier process. */
  async listen(): Promise<void> {
    const { path } = this.options
    rmSync(path, { force: true })
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(path, resolve)
    })
    chmodSync(path, 0o600)
  }

  /** The connected workers. */
  all(): Worker[] {
    return [...this.connected.values()].filter(worker => worker.id !== '')
  }

  forget(forgotten: Forgotten): void {
    this.sendAll({ type: 'forget', ...forgotten })
  }

  certain(seq: number): void {
    this.sendAll({ type: 'certain', seq })
  }

  private sendAll(message: FromControl): void {
    for (const worker of this.all()) sendFrame(worker.socket, message)
  }

  private accept(socket: Socket): void {
    const worker: Worker = { id: '', pid: 0, socket, gauges: undefined, config: '', seq: undefined, granting: new Map(), silent: 0 }
    this.connected.set(socket, worker)
    onFrames(socket, value => this.onMessage(worker, value as FromWorker))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.connected.delete(socket)
      // It may have another connection, on which it is served meanwhile. After `close` it cannot come back.
      if (worker.id === '' || !this.server.listening || this.all().some(other => other.id === worker.id)) return
      this.leaving.set(
        worker.id,
        setTimeout(() => {
          this.leaving.delete(worker.id)
          this.counted.delete(worker.id)
          this.reportLost(worker.id)
          void this.options.ingest.writeLost(worker.id).then(() => this.options.onGone(worker.id))
        }, GRACE),
      )
    })
  }

  private onMessage(worker: Worker, message: FromWorker): void {
    const { ingest, log } = this.options
    worker.silent = 0
    // What a refused worker sent before it noticed.
    if (message.type !== 'hello' && worker.id === '') return
    switch (message.type) {
      case 'hello':
        if (message.form !== FORM) {
          log.error({ pid: message.pid }, 'a worker has another version, so it is not served')
          worker.socket.destroy()
          return
        }
        if (message.run !== this.options.run) {
          worker.socket.destroy()
          return
        }
        // A connection that the worker has given up, whose end has not been heard yet.
        for (const other of this.all()) if (other.id === message.worker && other !== worker) other.socket.destroy()
        worker.id = message.worker
        worker.pid = message.pid
        worker.config = message.config
        worker.seq = message.seq
        clearTimeout(this.leaving.get(worker.id))
        this.leaving.delete(worker.id)
        void this.welcome(worker)
        break
      case 'batch':
        void this.takeBatch(worker, message)
        break
      case 'open':
        void ingest.open(worker.id, readBatch(message, worker.id))
        break
      case 'key':
        void this.answerKey(worker, message.ask, message.sha256)
        break
      case 'ask':
        void (READS.has(message.name) ? this.answerInTurn(worker, message) : this.answerQuestion(worker, message))
        break
      case 'money':
        void this.grant(worker, message)
        break
      case 'gauges':
        worker.gauges = message.gauges
        break
      case 'lost':
        this.options.onLost(message.count)
        break
    }
  }

  /** The store has been opened: workers that were there before hear what changed while nobody could tell them. */
  welcomeAll(): void {
    for (const worker of this.all()) void this.welcome(worker)
  }

  /** The changes since the worker's last position. */
  private async welcome(worker: Worker): Promise<void> {
    const changes = this.options.changes()
    if (changes === undefined) return
    const { seq } = worker
    const upTo = changes.seq
    if (seq !== undefined && seq < upTo) {
      const forgotten = await changes.since(seq).catch(() => undefined)
      sendFrame(worker.socket, forgotten ? { type: 'forget', ...forgotten } : { type: 'forget_all', seq: upTo })
    }
    await changes.check()
  }

  private async takeBatch(worker: Worker, batch: Batch & { seq: number }): Promise<void> {
    const { seq } = batch
    const records = readBatch(batch, worker.id)
    if (seq > (this.counted.get(worker.id) ?? 0)) {
      this.counted.set(worker.id, seq)
      this.options.onRecords(records, batch)
    }
    const isKept = await this.options.ingest.add(records)
    if (isKept) this.refused.get(worker.id)?.delete(seq)
    else this.refused.set(worker.id, (this.refused.get(worker.id) ?? new Map<number, number>()).set(seq, records.length))
    this.send(worker, { type: isKept ? 'ack' : 'refused', seq })
  }

  /** Reports the records that a worker can no longer send again. */
  private reportLost(worker: string): void {
    const count = [...(this.refused.get(worker)?.values() ?? [])].reduce((sum, records) => sum + records, 0)
    this.refused.delete(worker)
    if (count > 0) this.options.onLost(count)
  }

  /** The same for all of them, at the end, when nothing is written any more. */
  reportAllLost(): void {
    for (const worker of [...this.refused.keys()]) this.reportLost(worker)
  }

  /** In sequence for each worker, because questions about one account must not overtake each other. */
  private grant(worker: Worker, { ask, n, money }: Extract<FromWorker, { type: 'money' }>): Promise<void> {
    const before = worker.granting.get(money.account) ?? Promise.resolve()
    const mine = before.then(async () => {
      const granted = await this.options.grant({ holder: worker.id, n, money }).catch(() => undefined)
      this.send(worker, { type: 'money', ask, granted })
      if (worker.granting.get(money.account) === mine) worker.granting.delete(money.account)
    })
    worker.granting.set(money.account, mine)
    return mine
  }

  /** Asks workers for the unused money of an account. */
  recall(account: string, except?: string): void {
    for (const worker of this.all()) if (worker.id !== except) this.send(worker, { type: 'recall', account })
  }

  private async answerKey(worker: Worker, ask: number, sha256: string): Promise<void> {
    try {
      const { key, seq } = await this.options.lookUp(sha256)
      this.send(worker, { type: 'key', ask, key: key ?? null, seq })
    } catch {
      this.send(worker, { type: 'key', ask, key: undefined })
    }
  }

  /** An answer may have 24 MiB: while many such are asked for, keys and money must not wait, and memory must stay bounded. */
  private answerInTurn(worker: Worker, question: Question): Promise<void> {
    const since = performance.now()
    return this.readers.run(async () => {
      if (performance.now() - since > PATIENCE) return
      await this.answerQuestion(worker, question)
      await taken(worker.socket)
    })
  }

  private async answerQuestion(worker: Worker, question: Question): Promise<void> {
    const { ask } = question
    try {
      const told = await this.options.answer(question)
      this.send(worker, { type: 'told', ask, told })
    } catch {
      this.send(worker, { type: 'told', ask })
    }
  }

  private send(worker: Worker, message: FromControl): void {
    if (!worker.socket.destroyed) sendFrame(worker.socket, message)
  }

  /** In place of a supervisor that was killed: ends the workers that said nothing at so many looks, which come as often as their gauges. */
  endStuck(looks: number): void {
    for (const worker of this.all()) {
      if (++worker.silent < looks) continue
      this.options.log.error({ pid: worker.pid }, 'a worker is stuck; ending it')
      worker.socket.destroy()
      try {
        process.kill(worker.pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** The ids of the workers that are connected, or may reconnect. */
  present(): Set<string> {
    return new Set([...this.all().map(worker => worker.id), ...this.leaving.keys()])
  }

  async close(): Promise<void> {
    for (const timer of this.leaving.values()) clearTimeout(timer)
    const closed = new Promise(done => this.server.close(done))
    for (const socket of this.connected.keys()) socket.destroy()
    await closed
    // The next process finds their exchanges under way in the store.
  }
}

/** Resolves when a socket has taken what was sent, has closed, or has been waited for long enough. */
function taken(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    if (!socket.writableNeedDrain || socket.destroyed) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      socket.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(done, PATIENCE)
    socket.on('drain', done).on('close', done)
  })
}
