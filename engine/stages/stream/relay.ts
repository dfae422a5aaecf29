// A stream from an upstream to a client: bytes through where both speak alike, through a reducer where not. All blocks that
// one read of the upstream gave are written at once. A stream that is not proven to have ended is never made to look as if
// it had.

import { type Deadline, now, unwatch, watch } from '../../core/deadlines.js'
import type { GatewayError } from '../../core/errors.js'
import type { Exchange, Sink } from '../../core/exchange.js'
import { describeCause } from '../../core/source-map.js'
import { atEndOfTurn } from '../../core/write-batch.js'
import type { Json, KeepRule, StreamFormat } from '../../plan.js'
import type { UpstreamResponse } from '../../upstream/call.js'
import { framings } from '../../wire/framing.js'
import { type Blocks, lineEndOf, parseEvents } from '../../wire/sse.js'
import { keeperOf } from '../kept.js'
import type { IdSealer } from '../seal-ids.js'
import type { Outcome } from '../send.js'
import type { EventHandler, Output } from './handler.js'
import { passing } from './pass.js'
import { joined } from './pieces.js'
import { asStreamError, EVENT_LIMIT } from './stream-errors.js'
import { translating } from './translate.js'
import { completingWriter, createRecall, createWriter, type EventWriter, keepingWriter, type Recall, sealingWriter } from './write.js'

/** How much of one stream is gathered in a turn: only what has been written shows that a client is slow. */
const GATHERED = 64 * 1024
/** Silence after which the client is sent a sign of life: milliseconds. */
const KEEP_ALIVE_AFTER = 15_000

/** A stream that has begun, and what is to be done with it. */
export type StreamStart = Extract<Outcome, { kind: 'stream' }>

/** Sends a stream on; resolves when it is over, however it ended. */
export function relayStream(start: StreamStart, headers: Readonly<Record<string, string>>, idSealer: IdSealer | undefined): Promise<void> {
  return new Promise(resolve => new StreamRelay(start, headers, idSealer, resolve).begin(start.first))
}

class StreamRelay implements Output, Deadline {
  slot = -1
  /** When the client is to be sent a sign of life. */
  due: number
  private isOver = false
  private lastWrite = now()
  /** One read of the upstream gives many pieces; what they become is written once, when the turn is through. */
  private pending: (Buffer | string)[] = []
  private length = 0
  private readonly exchange: Exchange
  private readonly response: UpstreamResponse
  private readonly format: StreamFormat | undefined
  private readonly sink: Sink
  private readonly recall: Recall | undefined
  private readonly writer: EventWriter
  private readonly keepAlive: string | undefined
  private readonly handler: EventHandler
  private readonly blocks: Blocks
  private readonly flush = (): void => this.writePending()

  constructor(
    start: StreamStart,
    headers: Readonly<Record<string, string>>,
    idSealer: IdSealer | undefined,
    private readonly resolve: () => void,
  ) {
    const { binding, route, exchange } = start.attempt
    const { from, to, mapping } = binding
    this.exchange = exchange
    this.response = start.response
    this.format = to.stream
    const framing = framings[route.framing ?? from.stream?.framing ?? 'sse']
    const theirs = framings[to.stream?.framing ?? 'sse']
    this.blocks = theirs.blocks(EVENT_LIMIT)
    const isPassing = mapping === undefined && framing === theirs && framing.passes
    this.sink = exchange.open(200, { 'content-type': framing.type, 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...headers })
    // Events of ours stand among those that pass, and some clients split a stream by one kind of line end alone.
    const lineEnd = isPassing ? lineEndOf(start.first) : '\n'
    this.recall = from.error.recalls ? createRecall() : undefined
    this.writer = createWriter(from, framing, this.sink, exchange, lineEnd, this.recall)
    const sign = from.stream?.keepAlive
    this.keepAlive = sign === undefined ? undefined : framing.sign(sign, lineEnd)
    this.due = this.lastWrite + KEEP_ALIVE_AFTER
    const keep = keeperOf(start.attempt)
    const writer = keep && from.keep ? keepingWriter(this.writer, from.keep, keep) : this.writer
    const sealing = idSealer ? sealingWriter(writer, idSealer) : writer
    const output = keep && from.keep ? keeping(this, from.keep, keep) : this
    this.handler = isPassing
      ? passing(start, lineEnd, idSealer ? sealed(output, idSealer) : output)
      : translating(start, mapping ? completingWriter(sealing, from) : sealing, this)
  }

  begin(first: Buffer | undefined): void {
    const { exchange, response } = this
    this.sink.onDrain(() => response.resume())
    watch(this)
    exchange.onEnding(failure => this.fail(failure))
    exchange.onAbort(() => this.aborted())
    if (first) this.guard(() => this.feed(first))
    response.receive({
      data: chunk => this.guard(() => this.feed(chunk)),
      end: () => this.guard(() => this.bodyEnd()),
      fail: error => this.fail(error),
    })
    response.resume()
  }

  /** Sends the client a sign of life where nothing was written for long. */
  fire(): void {
    if (now() >= this.lastWrite + KEEP_ALIVE_AFTER && this.keepAlive !== undefined && !this.isOver) {
      this.sink.write(this.keepAlive)
      this.lastWrite = now()
    }
    this.due = this.lastWrite + KEEP_ALIVE_AFTER
  }

  private guard(run: () => void): void {
    if (this.isOver) return
    try {
      run()
    } catch (error) {
      this.fail(asStreamError(error))
    }
  }

  private feed(chunk: Buffer): void {
    const block = this.blocks.push(chunk)
    if (block) this.handler.block(block)
  }

  private bodyEnd(): void {
    // An event without its blank line counts if it is whole; half of one is nothing.
    const rest = wholeRest(this.blocks.rest(), this.format)
    if (rest) this.handler.block(rest)
    if (!this.isOver) this.handler.bodyEnd()
  }

  write(chunk: Buffer | string): void {
    this.recall?.note(chunk)
    this.length += chunk.length
    const count = this.pending.push(chunk)
    if (this.length > GATHERED) this.writePending()
    else if (count === 1) atEndOfTurn(this.flush)
  }

  private writePending(): void {
    if (this.isOver || this.pending.length === 0) return
    this.lastWrite = now()
    if (!this.sink.write(this.takePending())) this.response.pause()
  }

  private takePending(): Buffer | string {
    const chunk = joined(this.pending)
    this.pending = []
    this.length = 0
    return chunk
  }

  end(): void {
    if (this.isOver) return
    const rest = this.takePending()
    atEndOfTurn(() => {
      if (!this.exchange.isAborted) this.writer.end(rest)
    })
    this.close(true)
  }

  fail(error: GatewayError): void {
    if (this.isOver) return
    const { exchange } = this
    if (exchange.isAborted) {
      this.aborted()
      return
    }
    exchange.log.error = {
      kind: error.kind,
      message: error.message,
      ...(error.cause !== undefined && { cause: describeCause(error.cause) }),
    }
    exchange.log.isPartial = true
    this.writer.fail(error, this.takePending())
    this.close(false)
  }

  private aborted(): void {
    if (this.isOver) return
    this.exchange.log.isPartial = true
    this.close(false)
  }

  private close(isProven: boolean): void {
    this.isOver = true
    unwatch(this)
    if (isProven) this.response.release()
    else this.response.cancel()
    this.resolve()
  }
}

/** Hands on the whole answer where an event that passes tells it, before that is written. */
function keeping(output: Output, { final, answer }: KeepRule, keep: (answer: Json) => void): Output {
  return {
    write(piece) {
      const text = piece.toString()
      if (final.some(marker => text.includes(marker)))
        parseEvents(text, data => {
          const whole = final.some(marker => data.includes(marker)) ? answer(JSON.parse(data)) : undefined
          if (whole !== undefined) keep(whole)
        })
      output.write(piece)
    },
    end: () => output.end(),
    fail: error => output.fail(error),
  }
}

/** Seals the ids in events that pass. */
function sealed(output: Output, idSealer: IdSealer): Output {
  return {
    write: piece => output.write(idSealer.block(piece.toString('utf8'))),
    end: () => output.end(),
    fail: error => output.fail(error),
  }
}

/** The last event of a body that ended without a blank line, with the line ends that it lacks; nothing where it was cut. */
function wholeRest(rest: Buffer | undefined, format: StreamFormat | undefined): Buffer | undefined {
  if (rest === undefined) return undefined
  let isWhole = false
  parseEvents(rest.toString('utf8'), data => {
    if (data === format?.sentinel) isWhole = true
    else {
      try {
        JSON.parse(data)
        isWhole = true
      } catch {
        // Cut in the middle: what follows must not stick to it.
      }
    }
  })
  return isWhole ? Buffer.concat([rest, Buffer.from('\n\n')]) : undefined
}
