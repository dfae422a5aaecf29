// Relays a stream from an upstream to a client: bytes pass in the same dialect, a reducer translates another. All blocks of
// one read are written at once. A stream without a proven end never looks complete to the client.

import { type Deadline, now, unwatch, watch } from '../../core/deadlines.js'
import { GatewayError } from '../../core/errors.js'
import type { Exchange, Sink } from '../../core/exchange.js'
import { failureOf } from '../../core/log.js'
import { atEndOfTurn } from '../../core/write-batch.js'
import type { Json, KeepRule, StreamFormat } from '../../plan.js'
import type { UpstreamResponse } from '../../upstream/call.js'
import { framings } from '../../wire/framing.js'
import { type Blocks, isSentinel, lineEndOf, parseEvents } from '../../wire/sse.js'
import type { Attempt } from '../attempt.js'
import { hasBrokenOff } from '../evidence.js'
import { keeperOf } from '../kept.js'
import type { Outcome } from '../outcome.js'
import type { Rewriter } from '../rewriter.js'
import { gathering } from './gather.js'
import type { EventHandler, Output } from './handler.js'
import { passing } from './pass.js'
import type { Piece } from './pieces.js'
import { asStreamError, EVENT_LIMIT } from './stream-errors.js'
import { translating } from './translate.js'
import { completingWriter, createRecall, createWriter, type EventWriter, keepingWriter, type Recall, rewritingWriter } from './write.js'

/** Milliseconds of silence after which the client gets a keep-alive. */
const KEEP_ALIVE_AFTER = 15_000

/** A stream that has begun, with its attempt. */
export type StreamStart = Extract<Outcome, { kind: 'stream' }>

/** Relays a stream; resolves when it has ended, for whatever reason. */
export function relayStream(start: StreamStart, headers: Readonly<Record<string, string>>, rewriter: Rewriter | undefined): Promise<void> {
  return new Promise(resolve => new StreamRelay(start, headers, rewriter, resolve).begin(start.first))
}

class StreamRelay implements Output, Deadline {
  slot = -1
  /** When the client gets the next keep-alive. */
  due: number
  private isOver = false
  /** How many events wait until they are part of their conversation: what is written behind them waits, too. */
  private held = 0
  /** The answer is complete, but its last event waits. */
  private isComplete = false
  private lastWrite = now()
  /** The chunks of one read: the HTTP client delivers each alone, as a rule one event. */
  private readonly arrived = gathering<Buffer>(queueMicrotask, () => this.feedArrived())
  /** The output of a turn of the event loop, written at its end. Only written bytes show that a client is slow. */
  private readonly pending = gathering<Piece>(atEndOfTurn, () => this.writePending())
  private readonly attempt: Attempt
  private readonly exchange: Exchange
  private readonly response: UpstreamResponse
  private readonly format: StreamFormat | undefined
  private readonly sink: Sink
  private readonly recall: Recall | undefined
  private readonly writer: EventWriter
  private readonly keepAlive: string | undefined
  private readonly handler: EventHandler
  private readonly blocks: Blocks

  constructor(
    start: StreamStart,
    headers: Readonly<Record<string, string>>,
    rewriter: Rewriter | undefined,
    private readonly resolve: () => void,
  ) {
    const { binding, route, exchange } = start.attempt
    const { from, to, mapping } = binding
    this.attempt = start.attempt
    this.exchange = exchange
    this.response = start.response
    this.format = to.stream
    const framing = framings[route.framing ?? from.stream?.framing ?? 'sse']
    const theirs = framings[to.stream?.framing ?? 'sse']
    this.blocks = theirs.blocks(EVENT_LIMIT)
    const isPassing = mapping === undefined && framing === theirs && framing.passes
    this.sink = exchange.open(200, { 'content-type': framing.type, 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...headers })
    // The gateway's events appear between those that pass, and some clients split a stream by one kind of line end only.
    const lineEnd = isPassing ? lineEndOf(start.first) : '\n'
    this.recall = from.error.recalls ? createRecall() : undefined
    this.writer = createWriter(from, framing, this.sink, exchange, lineEnd, this.recall)
    const sign = from.stream?.keepAlive
    this.keepAlive = sign === undefined ? undefined : framing.sign(sign, lineEnd)
    this.due = this.lastWrite + KEEP_ALIVE_AFTER
    const keeper = keeperOf(start.attempt)
    const keep = keeper && ((answer: Json) => this.hold(keeper(answer)))
    const writer = keep && from.keep ? keepingWriter(this.writer, from.keep, keep) : this.writer
    const changing = rewriter ? rewritingWriter(writer, rewriter) : writer
    const output = keep && from.keep ? keeping(this, from.keep, keep) : this
    this.handler = isPassing
      ? passing(start, lineEnd, rewriter ? rewriting(output, rewriter) : output)
      : translating(start, mapping ? completingWriter(changing, from) : changing, this)
  }

  begin(first: Buffer | undefined): void {
    const { exchange, response } = this
    this.sink.onDrain(() => response.resume())
    watch(this)
    exchange.onEnding(error => {
      this.feedArrived()
      this.failWith(error)
    })
    exchange.onAbort(() => this.aborted())
    if (first) this.guard(() => this.feed(first))
    response.receive({
      data: chunk => this.arrived.add(chunk),
      end: () => {
        this.feedArrived()
        this.guard(() => this.bodyEnd())
      },
      fail: error => {
        this.feedArrived()
        this.fail(error)
      },
    })
    response.resume()
  }

  /** Sends a keep-alive if nothing was written for long. */
  fire(): void {
    if (now() >= this.lastWrite + KEEP_ALIVE_AFTER && this.keepAlive !== undefined && !this.isOver) {
      this.sink.write(this.keepAlive)
      this.lastWrite = now()
    }
    this.due = this.lastWrite + KEEP_ALIVE_AFTER
  }

  /** Holds the output back until an answer is kept. If it cannot be, its stream does not look complete. */
  private hold(kept: Promise<void> | undefined): void {
    if (kept === undefined) return
    this.held++
    const release = (): void => {
      if (--this.held > 0) return
      this.writePending()
      if (this.isComplete) this.end()
    }
    kept.then(release, error => this.failWith(asStreamError(error)))
  }

  private guard(run: () => void): void {
    if (this.isOver || this.isComplete) return
    try {
      run()
    } catch (error) {
      this.fail(asStreamError(error))
    }
  }

  private feedArrived(): void {
    const chunk = this.arrived.take()
    if (chunk) this.guard(() => this.feed(chunk))
  }

  private feed(chunk: Buffer): void {
    const block = this.blocks.push(chunk)
    if (block === undefined) return
    this.exchange.log.held?.note(block)
    if (!this.isOver) this.handler.block(block)
  }

  private bodyEnd(): void {
    // A last event without its blank line counts if it is complete.
    const rest = wholeRest(this.blocks.rest(), this.format)
    if (rest) this.handler.block(rest)
    if (!this.isOver) this.handler.bodyEnd()
  }

  write(chunk: Piece): void {
    this.recall?.note(chunk)
    this.pending.add(chunk)
  }

  private writePending(): void {
    const chunk = this.isOver || this.held > 0 ? undefined : this.pending.take()
    if (chunk === undefined) return
    this.lastWrite = now()
    if (!this.sink.write(chunk)) this.response.pause()
  }

  end(): void {
    if (this.isOver) return
    if (this.held > 0) {
      this.isComplete = true
      return
    }
    const rest = this.pending.take()
    atEndOfTurn(() => {
      if (!this.exchange.isAborted) this.writer.end(rest)
    })
    this.attempt.binding.target.health.succeed()
    this.close(true)
  }

  /** The upstream's answer has failed. */
  fail(error: GatewayError): void {
    if (!this.isOver && !this.exchange.isAborted) hasBrokenOff(this.attempt, error)
    this.failWith(error)
  }

  private failWith(error: GatewayError): void {
    if (this.isOver) return
    const { exchange } = this
    if (exchange.isAborted) {
      this.aborted()
      return
    }
    exchange.log.error = failureOf(error)
    exchange.log.isPartial = true
    const rest = this.pending.take()
    this.writer.fail(error, this.held > 0 ? undefined : rest)
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

/** Keeps the whole answer when a passing event holds it, before the event is written. */
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

/** Rewrites events that pass. */
function rewriting(output: Output, rewriter: Rewriter): Output {
  return {
    write: piece => output.write(rewriter.isDone?.() ? piece : rewriter.block(piece.toString('utf8'))),
    end: () => output.end(),
    fail: error => output.fail(rewrittenError(error, rewriter)),
  }
}

/** Rewrites the event that reports a failure. */
function rewrittenError(error: GatewayError, rewriter: Rewriter): GatewayError {
  const { event } = error.more
  if (event === undefined) return error
  return new GatewayError(error.kind, error.message, { ...error.more, event: JSON.parse(rewriter.event(JSON.stringify(event))) })
}

/** The last event of a body that ended without a blank line, with the missing line ends; undefined if it was cut. */
function wholeRest(rest: Buffer | undefined, format: StreamFormat | undefined): Buffer | undefined {
  if (rest === undefined) return undefined
  let isWhole = false
  parseEvents(rest.toString('utf8'), (data, isError) => {
    if (isError || isSentinel(data, format?.sentinel)) isWhole = true
    else {
      try {
        JSON.parse(data)
        isWhole = true
      } catch {
        // Cut in the middle: the next event must not join it.
      }
    }
  })
  return isWhole ? Buffer.concat([rest, Buffer.from('\n\n')]) : undefined
}
