// The connection to the control process, which keeps keys and counts: a socket that reconnects whenever it breaks. A
// request waits for it only if its key is not yet known.

import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { MoneyAsked, MoneyGranted, Treasury } from '../budgets/account.js'
import type { Budgets } from '../budgets/budgets.js'
import { now } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Key, Questions, Store } from '../snapshot/model.js'
import { Asks } from './asks.js'
import { onFrames, sendFrame } from './frames.js'
import { KeyCache, type KeyCacheOptions } from './keys.js'
import type { Condition, FromControl, FromWorker, Question } from './messages.js'
import { Outbox } from './outbox.js'
import { ProcessGauges } from './process-gauges.js'
import { type Batch, FORM } from './records.js'

export interface ControlOptions extends KeyCacheOptions {
  socket: string
  /** The run of the gateway that this process belongs to: the control process of another one does not serve it. */
  run: string
  /** A short hash of the configuration. */
  config: string
  /** Exchanges under way. */
  live(): Iterable<Exchange>
  condition(): Condition
}

/** Milliseconds. */
const RECONNECT = 100
/** For how long the control process may take nothing of what it was sent. */
const STUCK = 5_000
const GAUGE = 1_000
/** After how long an exchange under way is reported, and how soon again: at every other tick if it is paid for. */
const OPEN_AFTER = 1_000
const OPEN_AGAIN = 15_000
const CHARGED_AGAIN = 1_500

/** Questions that may wait at once, and the characters of text in all of them. */
const MOST_QUESTIONS = 10_000
const MOST_ASKED = 64 * 1024 * 1024

export class ControlClient implements Store, Treasury {
  private readonly worker = randomUUID()
  private readonly cache: KeyCache
  private socket: Socket | undefined
  private isConnected = false
  private isClosed = false
  /** The position of the last change that has arrived. */
  private seq: number | undefined
  /** Sends a message if there is a connection. */
  private readonly send = (message: FromWorker): void => {
    if (this.isConnected) sendFrame(this.socket as Socket, message)
  }
  private readonly outbox = new Outbox(this.send)
  private nextAsk = 1
  private readonly lookups = new Asks<Extract<FromWorker, { type: 'key' }>, Key | undefined>(this.send, cannotTell)
  private readonly questions = new Asks<Question, unknown>(this.send, notNow)
  private readonly money = new Asks<Extract<FromWorker, { type: 'money' }>, MoneyGranted>(this.send, noAnswer)
  private askedLength = 0
  private budgets: Budgets | undefined
  /** When keys were last forgotten: a lookup that began before is repeated. */
  private readonly forgotten = new Map<number, number>()
  /** Exchanges under way that the control process knows of, and when they were last reported. */
  private readonly open = new Map<string, number>()
  private readonly gauges = new ProcessGauges()
  private readonly ticker: NodeJS.Timeout

  constructor(private readonly options: ControlOptions) {
    this.cache = new KeyCache(sha256 => this.lookUp(sha256), options)
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

  private lookUp(sha256: string): Promise<Key | undefined> {
    const ask = this.nextAsk++
    return this.lookups.ask(ask, { type: 'key', ask, sha256 })
  }

  private answered(message: Extract<FromControl, { type: 'key' }>): void {
    const asked = this.lookups.messageOf(message.ask)
    if (asked === undefined) return
    const { key } = message
    if (key && 'seq' in message && (this.forgotten.get(key.id as number) ?? -1) > message.seq) {
      // The control process read the key before it changed.
      this.send(asked)
      return
    }
    if (key === undefined) this.lookups.fail(message.ask, cannotTell())
    else this.lookups.answer(message.ask, this.cache.found(asked.sha256, key ?? undefined))
    if (this.lookups.size === 0) this.forgotten.clear()
  }

  private forget(message: Extract<FromControl, { type: 'forget' }>): void {
    this.seq = message.seq
    if (this.lookups.size > 0) for (const id of message.keys) this.forgotten.set(id, message.seq)
    this.cache.forget(message.keys, message.secrets)
    if (message.ended.length === 0) return
    const ended = new Set(message.ended)
    for (const exchange of this.options.live()) {
      const id = exchange.log.caller?.id
      if (id !== undefined && ended.has(id)) exchange.endWith(new GatewayError('permission', 'This API key has been revoked.'))
    }
  }

  // Questions ------------------------------------------------------------------------------------------------------

  /** Rejects with `unavailable` if the store cannot be reached, or too much is asked at once. */
  async ask<Name extends keyof Questions>(name: Name, asked: Questions[Name]['asked']): Promise<Questions[Name]['told']> {
    const length = lengthOf(asked)
    // A question that has been given up may still wait in the socket.
    const waiting = Math.max(this.askedLength, this.socket?.writableLength ?? 0)
    if (this.questions.size >= MOST_QUESTIONS || waiting + length > MOST_ASKED) throw notNow()
    this.askedLength += length
    const ask = this.nextAsk++
    try {
      return (await this.questions.ask(ask, { type: 'ask', ask, name, asked } as Question)) as Questions[Name]['told']
    } finally {
      this.askedLength -= length
    }
  }

  private told(message: Extract<FromControl, { type: 'told' }>): void {
    if ('told' in message) this.questions.answer(message.ask, message.told)
    else this.questions.fail(message.ask, notNow())
  }

  // Money ----------------------------------------------------------------------------------------------------------

  /** From now on the control process grants the money of these budgets. */
  fund(budgets: Budgets): void {
    this.budgets = budgets
    budgets.treasury = this
  }

  /** Rejects if no answer comes in time. */
  grant(money: MoneyAsked): Promise<MoneyGranted> {
    const ask = this.nextAsk++
    return this.money.ask(ask, { type: 'money', ask, n: ask, money })
  }

  private granted({ ask, granted }: Extract<FromControl, { type: 'money' }>): void {
    if (granted === undefined) this.money.fail(ask, new Error('the store is away'))
    else this.money.answer(ask, granted)
  }

  // Records --------------------------------------------------------------------------------------------------------

  /**
   * Records an exchange that has ended; `total` is its duration in milliseconds, and `mayLeave` whether its line of the access
   * log may be left to the control process. Returns whether it is: one that is away would be late with it.
   */
  record(exchange: Exchange, total: number, mayLeave: boolean): boolean {
    if (this.open.size > 0) this.open.delete(exchange.id)
    const leaves = mayLeave && this.isConnected
    return this.outbox.add(exchange, total, leaves) && leaves
  }

  /** Reports the state of this process, and the exchanges that last longer than most. */
  private tick(): void {
    if (!this.isConnected) return
    const time = now()
    let [inFlight, streams] = [0, 0]
    const busy = new Map<string, number>()
    const long: [Exchange, number][] = []
    for (const exchange of this.options.live()) {
      inFlight++
      const { isStream, target } = exchange.log
      if (isStream) streams++
      if (target !== undefined) busy.set(target, (busy.get(target) ?? 0) + 1)
      const again = exchange.log.held === undefined ? OPEN_AGAIN : CHARGED_AGAIN
      if (time - exchange.began < OPEN_AFTER || time - (this.open.get(exchange.id) ?? Number.NEGATIVE_INFINITY) < again) continue
      this.open.set(exchange.id, time)
      long.push([exchange, time - exchange.began])
    }
    this.outbox.tellOpen(long)
    this.outbox.tellLost()
    this.send({
      type: 'gauges',
      gauges: {
        inFlight,
        streams,
        records: this.outbox.size,
        keys: this.cache.size,
        busy: [...busy],
        ...this.gauges.take(),
        ...this.options.condition(),
        budgets: this.budgets?.gauges(Date.now()) ?? [],
      },
    })
  }

  // The socket -----------------------------------------------------------------------------------------------------

  private connect(): void {
    const socket = connect(this.options.socket)
    this.socket = socket
    // The socket alone must not keep a process alive.
    socket.unref()
    socket.on('connect', () => {
      this.isConnected = true
      const { worker, seq } = this
      const { run, config } = this.options
      this.send({ type: 'hello', worker, pid: process.pid, form: FORM, seq, run, config })
      this.open.clear()
      this.outbox.resend()
      this.lookups.resend()
      this.questions.resend()
      this.money.resend()
      this.budgets?.resume()
      // What has been under way for long is reported at once: this process may be gone before the next tick.
      this.tick()
    })
    onFrames(socket, value => this.heard(value as FromControl))
    // Otherwise everything would wait in memory for a process that is stuck. What must arrive is sent again on the next connection.
    socket.setTimeout(STUCK, () => {
      if (socket.writableLength > 0) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isConnected = false
      if (!this.isClosed) setTimeout(() => this.connect(), RECONNECT).unref()
    })
  }

  private heard(message: FromControl): void {
    switch (message.type) {
      case 'ack':
        this.outbox.acknowledged(message.seq)
        break
      case 'refused':
        this.outbox.refused(message.seq)
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

  /** Sends the remaining records and waits briefly for their acknowledgement. Resolves with those that got none. */
  async close(): Promise<Batch[]> {
    clearInterval(this.ticker)
    this.gauges.close()
    const rest = await this.outbox.empty()
    this.isClosed = true
    this.socket?.destroy()
    return rest
  }
}

function cannotTell(): GatewayError {
  return new GatewayError('unavailable', 'API keys cannot be looked up at the moment.', { retryAfter: '1' })
}

function notNow(): GatewayError {
  return new GatewayError('unavailable', 'The store cannot be reached at the moment.', { retryAfter: '1' })
}

function noAnswer(): Error {
  return new Error('the control process does not answer')
}

/** The characters of all texts in a question. */
function lengthOf(asked: object): number {
  let length = 0
  for (const value of Object.values(asked)) if (typeof value === 'string') length += value.length
  return length
}
