// The connection to the control process, which keeps keys and counts: a socket that reconnects whenever it breaks. A
// request waits for it only if its key is not yet known.

import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import type { MoneyAsked, MoneyGranted, Treasury } from '../budgets/account.js'
import type { BudgetGauge, Budgets } from '../budgets/budgets.js'
import { now } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { KeyConfig } from '../snapshot/config.js'
import type { Key, Questions, Store } from '../snapshot/model.js'
import { onFrames, sendFrame } from './frames.js'
import { KeyCache, type KeyCacheOptions } from './keys.js'
import { BATCH, type Batch, OpenBatch, TextList, WIDTH, writeRecord } from './records.js'

/** Messages from a worker. */
export type FromWorker =
  | { type: 'hello'; worker: string; pid: number; width: number; names: string[]; seq: number | undefined; config: string }
  | { type: 'names'; from: number; names: string[] }
  | ({ type: 'batch'; seq: number } & Batch)
  | ({ type: 'open' } & Batch)
  | { type: 'key'; ask: number; sha256: string }
  | Question
  /** `n` grows with every question about an account, so that a late answer to an older question is ignored. */
  | { type: 'money'; ask: number; n: number; money: MoneyAsked }
  | { type: 'gauges'; gauges: Gauges }
  | { type: 'lost'; count: number }

/** Messages from the control process. `seq` is the position in its order of changes. */
export type FromControl =
  | { type: 'ack'; seq: number }
  | { type: 'key'; ask: number; key: KeyConfig | null; seq: number }
  /** `key` is undefined: the store cannot be reached at the moment. */
  | { type: 'key'; ask: number; key: undefined }
  /** `told` is undefined: the store cannot be reached at the moment. */
  | { type: 'told'; ask: number; told?: unknown }
  | { type: 'forget'; seq: number; keys: number[]; secrets: string[]; ended: number[] }
  | { type: 'forget_all'; seq: number }
  | { type: 'money'; ask: number; granted: MoneyGranted | undefined }
  /** Another process wants the free money of an account. */
  | { type: 'recall'; account: string }
  /** Every change up to `seq` has been sent: what the worker knows is valid. */
  | { type: 'certain'; seq: number }

/** A question that a store answers. */
export type Question = {
  [Name in keyof Questions]: { type: 'ask'; ask: number; name: Name; asked: Questions[Name]['asked'] }
}[keyof Questions]

/** What only the program around this connection knows. */
export interface Condition {
  /** Clients' sockets that are open, and the bytes that bodies of requests hold. */
  sockets: number
  bodyBytes: number
  /** The targets that are ejected or on trial. */
  aside: { target: string; isOnTrial: boolean }[]
  /** Whether the process that counts limits for several answers; undefined: this process counts alone. */
  isStateUp: boolean | undefined
}

/** The state of a worker. Bytes, and milliseconds. */
export interface Gauges extends Condition {
  inFlight: number
  streams: number
  records: number
  keys: number
  loopDelay50: number
  loopDelay99: number
  residentBytes: number
  cpuMicroseconds: number
  gcMilliseconds: number
  /** The requests under way of each target that has any. */
  busy: [target: string, inFlight: number][]
  /** The budgets that metrics report. */
  budgets: BudgetGauge[]
}

export interface ControlOptions extends KeyCacheOptions {
  socket: string
  /** A short hash of the configuration. */
  config: string
  /** Exchanges under way. */
  live(): Iterable<Exchange>
  condition(): Condition
}

/** Milliseconds. */
const GATHER = 20
const RECONNECT = 100
const LOOKUP = 2_000
const GAUGE = 1_000
const OPEN_AFTER = 1_000
const OPEN_AGAIN = 15_000
const LAST_ACK = 3_000

/** Records kept while the control process does not take them. */
const MOST = 65_536

/** Questions that may wait at once, and the characters of text in all of them. */
const MOST_QUESTIONS = 10_000
const MOST_ASKED = 64 * 1024 * 1024

interface Waiting {
  question: Question
  /** Characters. */
  length: number
  timer: NodeJS.Timeout
  resolve(told: unknown): void
  reject(error: unknown): void
}

interface Asking {
  sha256: string
  timer: NodeJS.Timeout
  resolve(key: KeyConfig | undefined): void
  reject(error: unknown): void
}

interface AskingMoney {
  message: Extract<FromWorker, { type: 'money' }>
  timer: NodeJS.Timeout
  resolve(granted: MoneyGranted): void
  reject(error: unknown): void
}

export class ControlClient implements Store, Treasury {
  private readonly worker = randomUUID()
  private readonly names = new TextList()
  private readonly cache: KeyCache
  private socket: Socket | undefined
  private isConnected = false
  private isClosed = false
  /** How many names have been sent to the control process. */
  private toldNames = 0
  /** The position of the last change that has arrived. */
  private seq: number | undefined
  /** The batch being filled, and the batches that wait for their acknowledgement. */
  private batch = new OpenBatch()
  /** The buffer of a batch that the control process has acknowledged. */
  private spare: Batch['numbers'] | undefined
  private timer: NodeJS.Timeout | undefined
  private readonly unacknowledged = new Map<number, Batch>()
  private waiting = 0
  private nextBatch = 1
  private lost = 0
  private nextAsk = 1
  private readonly asking = new Map<number, Asking>()
  private readonly questions = new Map<number, Waiting>()
  private askedLength = 0
  private readonly askingMoney = new Map<number, AskingMoney>()
  private budgets: Budgets | undefined
  /** When keys were last forgotten: a lookup that began before is repeated. */
  private readonly forgotten = new Map<number, number>()
  /** Exchanges under way that the control process knows of, and when they were last reported. */
  private readonly open = new Map<string, number>()
  private readonly delay = monitorEventLoopDelay({ resolution: 20 })
  private gcMilliseconds = 0
  private readonly collections = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) this.gcMilliseconds += duration
  })
  private readonly ticker: NodeJS.Timeout
  private whenIdle: (() => void) | undefined

  constructor(private readonly options: ControlOptions) {
    this.cache = new KeyCache(sha256 => this.lookUp(sha256), options)
    this.delay.enable()
    this.collections.observe({ entryTypes: ['gc'] })
    this.ticker = setInterval(() => this.tick(), GAUGE)
    this.ticker.unref()
    this.connect()
  }

  // Keys -----------------------------------------------------------------------------------------------------------

  known(text: string): Key | undefined {
    return this.cache.known(text)
  }

  find(text: string, sha256: string): Promise<Key | undefined> | undefined {
    return this.cache.find(text, sha256)
  }

  private lookUp(sha256: string): Promise<KeyConfig | undefined> {
    return new Promise((resolve, reject) => {
      const ask = this.nextAsk++
      const timer = setTimeout(() => {
        this.asking.delete(ask)
        reject(cannotTell())
      }, LOOKUP)
      this.asking.set(ask, { sha256, timer, resolve, reject })
      if (this.isConnected) this.send({ type: 'key', ask, sha256 })
    })
  }

  private answered(message: Extract<FromControl, { type: 'key' }>): void {
    const asking = this.asking.get(message.ask)
    if (asking === undefined) return
    const { key } = message
    if (key && 'seq' in message && (this.forgotten.get(key.id as number) ?? -1) > message.seq) {
      // The control process read the key before it changed.
      this.send({ type: 'key', ask: message.ask, sha256: asking.sha256 })
      return
    }
    this.asking.delete(message.ask)
    if (this.asking.size === 0) this.forgotten.clear()
    clearTimeout(asking.timer)
    if (key === undefined) asking.reject(cannotTell())
    else asking.resolve(key ?? undefined)
  }

  private forget(message: Extract<FromControl, { type: 'forget' }>): void {
    this.seq = message.seq
    if (this.asking.size > 0) for (const id of message.keys) this.forgotten.set(id, message.seq)
    this.cache.forget(message.keys, message.secrets)
    if (message.ended.length === 0) return
    const ended = new Set(message.ended)
    for (const exchange of this.options.live()) {
      const id = exchange.log.caller?.id
      if (id !== undefined && ended.has(id)) exchange.endWith(new GatewayError('permission', 'This API key has been revoked.'))
    }
  }

  // Questions ------------------------------------------------------------------------------------------------------

  ask<Name extends keyof Questions>(name: Name, asked: Questions[Name]['asked']): Promise<Questions[Name]['told']> {
    return new Promise((resolve, reject) => {
      const length = lengthOf(asked)
      if (this.questions.size >= MOST_QUESTIONS || this.askedLength + length > MOST_ASKED) throw notNow()
      this.askedLength += length
      const ask = this.nextAsk++
      const question = { type: 'ask', ask, name, asked } as Question
      const timer = setTimeout(() => {
        this.questions.delete(ask)
        this.askedLength -= length
        reject(notNow())
      }, LOOKUP)
      this.questions.set(ask, { question, length, timer, resolve: told => resolve(told as Questions[Name]['told']), reject })
      this.send(question)
    })
  }

  private told(message: Extract<FromControl, { type: 'told' }>): void {
    const waiting = this.questions.get(message.ask)
    if (waiting === undefined) return
    this.questions.delete(message.ask)
    this.askedLength -= waiting.length
    clearTimeout(waiting.timer)
    if ('told' in message) waiting.resolve(message.told)
    else waiting.reject(notNow())
  }

  // Money ----------------------------------------------------------------------------------------------------------

  /** From now on the control process grants the money of these budgets. */
  fund(budgets: Budgets): void {
    this.budgets = budgets
    budgets.treasury = this
  }

  /** Rejects if no answer comes in time. */
  grant(money: MoneyAsked): Promise<MoneyGranted> {
    return new Promise((resolve, reject) => {
      const ask = this.nextAsk++
      const timer = setTimeout(() => {
        this.askingMoney.delete(ask)
        reject(new Error('the control process does not answer'))
      }, LOOKUP)
      timer.unref()
      const message = { type: 'money', ask, n: ask, money } as const
      this.askingMoney.set(ask, { message, timer, resolve, reject })
      if (this.isConnected) this.send(message)
    })
  }

  private granted({ ask, granted }: Extract<FromControl, { type: 'money' }>): void {
    const asking = this.askingMoney.get(ask)
    if (asking === undefined) return
    this.askingMoney.delete(ask)
    clearTimeout(asking.timer)
    if (granted === undefined) asking.reject(new Error('the store is away'))
    else asking.resolve(granted)
  }

  // Records --------------------------------------------------------------------------------------------------------

  /** Records an exchange that has ended; `total` is its duration in milliseconds. */
  record(exchange: Exchange, total: number): void {
    if (this.open.size > 0) this.open.delete(exchange.id)
    if (this.waiting + this.batch.ids.length >= MOST) {
      this.lost++
      return
    }
    writeRecord(this.batch, exchange, total, this.names)
    if (this.batch.ids.length === BATCH) this.leave()
    else this.timer ??= setTimeout(() => this.leave(), GATHER)
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
    if (this.isConnected) this.sendBatch(seq, full)
  }

  private sendBatch(seq: number, batch: Batch): void {
    this.tellNames()
    this.send({ type: 'batch', seq, ...batch })
  }

  private tellNames(): void {
    const { all } = this.names
    if (all.length === this.toldNames) return
    this.send({ type: 'names', from: this.toldNames, names: all.slice(this.toldNames) })
    this.toldNames = all.length
  }

  private acknowledged(seq: number): void {
    const batch = this.unacknowledged.get(seq)
    if (batch === undefined) return
    this.unacknowledged.delete(seq)
    this.waiting -= batch.ids.length
    this.spare = new Float64Array(batch.numbers.buffer)
    if (this.unacknowledged.size === 0) this.whenIdle?.()
  }

  /** Reports the state of this process, and the exchanges that last longer than most. */
  private tick(): void {
    if (!this.isConnected) return
    const time = now()
    let [inFlight, streams] = [0, 0]
    const busy = new Map<string, number>()
    let batch = new OpenBatch()
    const leave = (): void => {
      if (batch.ids.length === 0) return
      this.tellNames()
      this.send({ type: 'open', ...batch.full() })
      batch = new OpenBatch()
    }
    for (const exchange of this.options.live()) {
      inFlight++
      const { isStream, target } = exchange.log
      if (isStream) streams++
      if (target !== undefined) busy.set(target, (busy.get(target) ?? 0) + 1)
      if (time - exchange.began < OPEN_AFTER || time - (this.open.get(exchange.id) ?? Number.NEGATIVE_INFINITY) < OPEN_AGAIN) continue
      this.open.set(exchange.id, time)
      writeRecord(batch, exchange, time - exchange.began, this.names)
      if (batch.ids.length === BATCH) leave()
    }
    leave()
    if (this.lost > 0) {
      this.send({ type: 'lost', count: this.lost })
      this.lost = 0
    }
    const { user, system } = process.cpuUsage()
    this.send({
      type: 'gauges',
      gauges: {
        inFlight,
        streams,
        records: this.waiting + this.batch.ids.length,
        keys: this.cache.size,
        loopDelay50: this.delay.percentile(50) / 1e6,
        loopDelay99: this.delay.percentile(99) / 1e6,
        residentBytes: process.memoryUsage.rss(),
        cpuMicroseconds: user + system,
        gcMilliseconds: this.gcMilliseconds,
        busy: [...busy],
        ...this.options.condition(),
        budgets: this.budgets?.gauges(Date.now()) ?? [],
      },
    })
    this.delay.reset()
  }

  // The socket -----------------------------------------------------------------------------------------------------

  private connect(): void {
    const socket = connect(this.options.socket)
    this.socket = socket
    // The socket alone must not keep a process alive.
    socket.unref()
    socket.on('connect', () => {
      this.isConnected = true
      const { all } = this.names
      this.toldNames = all.length
      this.send({
        type: 'hello',
        worker: this.worker,
        pid: process.pid,
        width: WIDTH,
        names: all.slice(),
        seq: this.seq,
        config: this.options.config,
      })
      this.open.clear()
      for (const [seq, batch] of this.unacknowledged) this.sendBatch(seq, batch)
      for (const [ask, { sha256 }] of this.asking) this.send({ type: 'key', ask, sha256 })
      for (const { question } of this.questions.values()) this.send(question)
      for (const { message } of this.askingMoney.values()) this.send(message)
      this.budgets?.resume()
      // What has been under way for long is reported at once: this process may be gone before the next tick.
      this.tick()
    })
    onFrames(socket, value => this.heard(value as FromControl))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isConnected = false
      if (!this.isClosed) setTimeout(() => this.connect(), RECONNECT).unref()
    })
  }

  private heard(message: FromControl): void {
    switch (message.type) {
      case 'ack':
        this.acknowledged(message.seq)
        break
      case 'key':
        this.answered(message)
        break
      case 'told':
        this.told(message)
        break
      case 'money':
        this.granted(message)
        break
      case 'recall':
        this.budgets?.recall(message.account)
        break
      case 'forget':
        this.forget(message)
        break
      case 'forget_all':
        this.seq = message.seq
        this.cache.forgetAll()
        break
      case 'certain':
        this.seq = message.seq
        this.cache.certain(Date.now())
        break
    }
  }

  private send(message: FromWorker): void {
    if (this.isConnected) sendFrame(this.socket as Socket, message)
  }

  /** Sends the remaining records and waits briefly for their acknowledgement. */
  async close(): Promise<void> {
    clearInterval(this.ticker)
    this.delay.disable()
    this.collections.disconnect()
    this.leave()
    if (this.unacknowledged.size > 0)
      await new Promise<void>(done => {
        this.whenIdle = done
        setTimeout(done, LAST_ACK)
      })
    this.isClosed = true
    this.socket?.destroy()
  }
}

function cannotTell(): GatewayError {
  return new GatewayError('unavailable', 'API keys cannot be looked up at the moment.', { retryAfter: '1' })
}

function notNow(): GatewayError {
  return new GatewayError('unavailable', 'The store cannot be reached at the moment.', { retryAfter: '1' })
}

/** The characters of all texts in a question. */
function lengthOf(asked: object): number {
  let length = 0
  for (const value of Object.values(asked)) if (typeof value === 'string') length += value.length
  return length
}
