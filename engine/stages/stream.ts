// A stream from an upstream to a client: bytes through where both speak alike, through a reducer where not. Every
// block that one read of the upstream gave is written at once. A stream that is not proven to have ended is never made
// to look as if it had.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { errorEvent, GatewayError } from '../core/errors.js'
import type { Exchange, Sink } from '../core/exchange.js'
import { describeCause } from '../core/source-map.js'
import { asPattern, textOf } from '../core/text.js'
import { mergeUsage, readUsage } from '../core/usage.js'
import { atEndOfTurn } from '../http/write-batch.js'
import { pushEvents } from '../jsonata/events.js'
import type { Context, Dialect, Json, Mapping, State, StreamFormat, Watch } from '../plan.js'
import type { Binding } from '../snapshot/snapshot.js'
import type { UpstreamResponse } from '../upstream/call.js'
import { errorFrom, failureFrom, statusOfWord } from '../upstream/refusal.js'
import { createEventTemplates, markersOf } from '../wire/event-templates.js'
import { completedEvents } from '../wire/json/complete.js'
import { keepDigitsAt, mayHold, releaseDigits } from '../wire/json/digits.js'
import { areSurelyEvents } from '../wire/json/well-formed.js'
import { createBlocks, endOfEvent, lineEndOf, parseBlock, parseEvents } from '../wire/sse.js'
import type { IdSealer } from './seal-ids.js'

/** The longest event that is held while the rest of it comes. */
const EVENT_LIMIT = 32 * 1024 * 1024
/** How much of one stream is gathered in a turn: only what has been written shows that a client is slow. */
const GATHERED = 64 * 1024
/** How much of a stream is held, and how long (milliseconds), before it has said anything: a failure may still go elsewhere. */
const BEGINNING = 256 * 1024
const PATIENCE = 5_000
/** Silence after which the client is sent a sign of life. */
const KEEP_ALIVE_AFTER = 15_000

/**
 * Reads the beginning of a stream up to its first event that says anything; a failure that comes before is thrown. An answer
 * that has begun and then says nothing is not waited for long: its client wants to see that it has.
 */
export function firstEvents(upstream: UpstreamResponse, binding: Binding): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const format = binding.to.stream as StreamFormat
    const blocks = createBlocks(EVENT_LIMIT)
    const got: Buffer[] = []
    let length = 0
    let isEvent = false
    const settle = (): void => {
      unwatch(patience)
      upstream.detach()
      upstream.pause()
      upstream.startIdle()
      const rest = blocks.rest()
      if (rest) got.push(rest)
      resolve(Buffer.concat(got))
    }
    const refuse = (error: unknown): void => {
      unwatch(patience)
      reject(error)
    }
    const patience: Deadline = { slot: -1, due: Number.POSITIVE_INFINITY, fire: settle }
    const judge = (block: Buffer): void => {
      got.push(block)
      length += block.length
      let isBegun = false
      let failure: GatewayError | undefined
      const isFirst = !isEvent
      parseBlock(block, data => {
        isEvent = true
        failure = failureIn(data, format, binding)
        isBegun = failure === undefined && !isBeginning(data, format)
        return failure !== undefined || isBegun
      })
      if (failure) {
        upstream.cancel()
        refuse(failure)
      } else if (isBegun || length > BEGINNING) {
        settle()
      } else if (isEvent && isFirst) {
        upstream.startIdle()
        patience.due = now() + PATIENCE
        watch(patience)
      }
    }
    upstream.receive({
      data(chunk) {
        try {
          const block = blocks.push(chunk)
          if (block) judge(block)
        } catch (error) {
          upstream.cancel()
          refuse(asStreamError(error))
        }
      },
      end() {
        const rest = blocks.rest()
        try {
          if (rest) judge(rest)
        } catch (error) {
          refuse(asStreamError(error))
        }
        refuse(new GatewayError('upstream', 'The upstream ended its answer before it began.'))
      },
      fail: refuse,
    })
  })
}

/** Whether an event only says that an answer begins. */
function isBeginning(data: string, format: StreamFormat): boolean {
  if (format.begin === undefined || data === format.sentinel) return false
  const event: Json = JSON.parse(data)
  return typeof event === 'object' && event !== null && format.begin(event) === true
}

function notJson(binding: Binding): GatewayError {
  return new GatewayError('upstream', 'The upstream sent something that is not valid.', {
    cause: `${binding.target.name}: an event is not JSON`,
  })
}

function failureIn(data: string, format: StreamFormat, binding: Binding): GatewayError | undefined {
  if (data === format.sentinel) return undefined
  let event: Json
  try {
    event = JSON.parse(data)
  } catch {
    return notJson(binding)
  }
  if (typeof event !== 'object' || event === null) return undefined
  return format.fail && has(data, format.fail) && format.fail.read(event) ? streamFailure(event, binding) : undefined
}

function streamFailure(event: Json, binding: Binding): GatewayError {
  const read = binding.to.error.read(event, undefined)
  return errorFrom(read, statusOfWord(read, binding.to), binding)
}

function has(text: string, watched: Watch<unknown>): boolean {
  for (let index = 0; index < watched.markers.length; index++) if (text.includes(watched.markers[index] as string)) return true
  return false
}

/** A stream that has begun, and what is to be done with it. */
export interface StreamStart {
  binding: Binding
  rendered: { ctx: Context; carry: Json; isAsked: boolean }
  upstream: UpstreamResponse
  first: Buffer | undefined
}

/** Sends a stream on; resolves when it is over, however it ended. */
export function relayStream(
  answer: StreamStart,
  framing: 'sse' | 'json_array',
  headers: Readonly<Record<string, string>>,
  exchange: Exchange,
  idSealer: IdSealer | undefined,
): Promise<void> {
  const { binding, upstream } = answer
  const { mapping } = binding
  const isPassing = mapping === undefined && framing === 'sse'
  return new Promise(resolve => {
    const type = framing === 'sse' ? 'text/event-stream; charset=utf-8' : 'application/json'
    const sink = exchange.open(200, { 'content-type': type, 'cache-control': 'no-cache', 'x-accel-buffering': 'no', ...headers })
    // Events of ours stand among those that pass, and some clients split a stream by one kind of line end alone.
    const lineEnd = isPassing ? lineEndOf(answer.first) : '\n'
    const recall = binding.from.error.recalls ? createRecall() : undefined
    const writer = createWriter(binding.from, framing, sink, exchange, lineEnd, recall)
    const sign = binding.from.stream?.keepAlive
    const keepAlive = framing === 'json_array' && sign !== undefined ? '\n' : sign?.replaceAll('\n', lineEnd)
    let isOver = false

    const close = (isProven: boolean): void => {
      isOver = true
      unwatch(alive)
      if (isProven) upstream.release()
      else upstream.cancel()
      resolve()
    }
    const fail = (error: GatewayError): void => {
      if (isOver) return
      if (exchange.isAborted) {
        exchange.log.isPartial = true
        close(false)
        return
      }
      exchange.log.error = {
        kind: error.kind,
        message: error.message,
        ...(error.cause !== undefined && { cause: describeCause(error.cause) }),
      }
      exchange.log.isPartial = true
      writer.fail(error, takePending())
      close(false)
    }
    const end = (): void => {
      if (isOver) return
      const rest = takePending()
      atEndOfTurn(() => {
        if (!exchange.isAborted) writer.end(rest)
      })
      close(true)
    }
    let lastWrite = now()
    // One read of the upstream gives many pieces; what they become is written once, when the turn is through.
    let pending: (Buffer | string)[] = []
    let length = 0
    const takePending = (): Buffer | string => {
      const chunk = joined(pending)
      pending = []
      length = 0
      return chunk
    }
    const flush = (): void => {
      if (isOver || pending.length === 0) return
      lastWrite = now()
      if (!sink.write(takePending())) upstream.pause()
    }
    const write = (chunk: Buffer | string): void => {
      recall?.note(chunk)
      length += chunk.length
      const count = pending.push(chunk)
      if (length > GATHERED) flush()
      else if (count === 1) atEndOfTurn(flush)
    }
    sink.onDrain(() => upstream.resume())
    const alive: Deadline = {
      slot: -1,
      due: lastWrite + KEEP_ALIVE_AFTER,
      fire() {
        const due = lastWrite + KEEP_ALIVE_AFTER
        if (now() >= due && keepAlive !== undefined && !isOver) {
          sink.write(keepAlive)
          lastWrite = now()
        }
        alive.due = lastWrite + KEEP_ALIVE_AFTER
      },
    }
    watch(alive)
    exchange.onEnding(fail)
    exchange.onAbort(() => {
      if (isOver) return
      exchange.log.isPartial = true
      close(false)
    })

    const sealedBody = idSealer ? sealingWriter(writer, idSealer) : writer
    const take = isPassing
      ? passing(answer, exchange, lineEnd, idSealer ? piece => write(idSealer.block(piece.toString('utf8'))) : write, end, fail)
      : translating(answer, mapping, exchange, mapping ? completingWriter(sealedBody, binding.from) : sealedBody, write, end, fail)
    const blocks = createBlocks(EVENT_LIMIT)
    const guarded = (run: () => void): void => {
      if (isOver) return
      try {
        run()
      } catch (error) {
        fail(asStreamError(error))
      }
    }
    const feed = (chunk: Buffer): void => {
      const block = blocks.push(chunk)
      if (block) take.block(block)
    }
    if (answer.first) guarded(() => feed(answer.first as Buffer))
    upstream.receive({
      data: chunk => guarded(() => feed(chunk)),
      end: () =>
        guarded(() => {
          // An event without its blank line counts if it is whole; half of one is nothing.
          const rest = wholeRest(blocks.rest(), binding.to.stream)
          if (rest) take.block(rest)
          if (!isOver) take.bodyEnd()
        }),
      fail,
    })
    upstream.resume()
  })
}

/** Pieces as one: text stays text where all of them are. */
function joined(pieces: readonly (Buffer | string)[]): Buffer | string {
  if (pieces.length === 1) return pieces[0] as Buffer | string
  if (pieces.every(piece => typeof piece === 'string')) return pieces.join('')
  return Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
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

/** What went wrong while an answer was read: what cannot be read or translated is the upstream's fault. */
function asStreamError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof RangeError) return new GatewayError('upstream', 'The upstream sent an event that is too long.', { cause: error })
  return new GatewayError('upstream', 'The upstream sent an event that could not be translated.', { cause: error })
}

interface EventHandler {
  block(block: Buffer): void
  /** The body is over without an event that proves the end. */
  bodyEnd(): void
}

const CUT = (): GatewayError => new GatewayError('upstream', 'The upstream broke its answer off before it was complete.')

/** Same dialect, same framing: whole events pass as they are; they are parsed where a marker is in them, or may be no JSON. */
function passing(
  answer: StreamStart,
  exchange: Exchange,
  lineEnd: string,
  write: (chunk: Buffer | string) => void,
  end: () => void,
  fail: (error: GatewayError) => void,
): EventHandler {
  const { binding, rendered } = answer
  const format = binding.to.stream as StreamFormat
  const probe = probeOf(format)
  let isFinished = false
  const wantsToken = format.content
  const slowly = (text: string, block: Buffer): void => {
    let isEnd = false
    let failure: GatewayError | undefined
    const kept: string[] = []
    let isWhole = true
    forEachEvent(text, (raw, data) => {
      if (isEnd || failure) return
      if (data === undefined) {
        kept.push(raw)
        return
      }
      if (data === format.sentinel) {
        isEnd = true
        kept.push(raw)
        return
      }
      let event: Json
      try {
        event = JSON.parse(data)
      } catch {
        failure = notJson(binding)
        return
      }
      if (typeof event !== 'object' || event === null) {
        kept.push(raw)
        return
      }
      if (format.fail && has(data, format.fail) && format.fail.read(event)) {
        failure = streamFailure(event, binding)
        return
      }
      if (format.usage && has(data, format.usage)) {
        const usage = mergeUsage(exchange.log.usage, readUsage(format.usage.read, event))
        if (usage) exchange.log.usage = usage
        if (rendered.isAsked && format.ask?.unasked(event)) {
          isWhole = false
          return
        }
      }
      if (format.finish && has(data, format.finish) && format.finish.read(event)) isFinished = true
      if (format.end && has(data, format.end) && format.end.read(event)) isEnd = true
      kept.push(raw)
    })
    if (failure || !isWhole || isEnd) {
      if (kept.length > 0) write(kept.join(''))
    } else {
      write(block)
    }
    if (failure) fail(failure)
    else if (isEnd) end()
  }
  return {
    block(block) {
      const latin = block.toString('latin1')
      if (wantsToken && exchange.log.firstToken === undefined) noteToken(block, format, exchange)
      if (probe.test(latin) || !areSurelyEvents(block)) slowly(block.toString('utf8'), block)
      else write(block)
    },
    bodyEnd() {
      if (isFinished && format.sentinel === undefined) end()
      else if (isFinished) {
        // The provider proved the end in its own way, without the word that clients wait for.
        write(`data: ${format.sentinel}${lineEnd}${lineEnd}`)
        end()
      } else fail(CUT())
    },
  }
}

const probes = new WeakMap<StreamFormat, RegExp>()

/** One pattern for all markers of a format: a pass over a block instead of one for each of them. */
function probeOf(format: StreamFormat): RegExp {
  let probe = probes.get(format)
  if (probe === undefined) {
    const markers = [...markersOf(format), ...(format.sentinel === undefined ? [] : [format.sentinel])]
    probe = new RegExp(markers.map(asPattern).join('|'))
    probes.set(format, probe)
  }
  return probe
}

function noteToken(block: Buffer, format: StreamFormat, exchange: Exchange): void {
  parseBlock(block, data => {
    if (data === format.sentinel) return false
    try {
      const event: Json = JSON.parse(data)
      if (typeof event === 'object' && event !== null && format.content?.(event)) exchange.log.firstToken = now() - exchange.began
    } catch {
      // What is not JSON is judged elsewhere.
    }
    return exchange.log.firstToken !== undefined
  })
}

/** Events with the text that they were written as, so that one of them can be left out. */
function forEachEvent(text: string, each: (raw: string, data: string | undefined) => void): void {
  let start = 0
  while (start < text.length) {
    const stop = endOfEvent(text, start)
    const raw = text.slice(start, stop)
    let data: string | undefined
    parseEvents(raw, value => {
      data = value
    })
    each(raw, data)
    start = stop
  }
}

/** Another dialect, or another framing: events are parsed, reduced and written anew. */
function translating(
  answer: StreamStart,
  mapping: Mapping | undefined,
  exchange: Exchange,
  writer: Writer,
  write: (chunk: string) => void,
  end: () => void,
  fail: (error: GatewayError) => void,
): EventHandler {
  const { binding, rendered } = answer
  const format = binding.to.stream as StreamFormat
  const reducer = mapping?.stream
  if (mapping !== undefined && reducer === undefined) throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  const state: State = reducer ? reducer.start() : {}
  const { ctx, carry } = rendered
  const probe = probeOf(format)
  binding.templates ??= createEventTemplates(format)
  const events = binding.templates.reader()
  // Mappings are shown the application's own numbers so that their digits stay.
  const verbatim = binding.to.verbatim?.event
  const kept = (block: Buffer): string => (verbatim ? keepDigitsInEvents(block, verbatim) : textOf(block))
  let isFinished = false
  const finish = (out: string[]): void => {
    const failure = failureFrom(reducer?.done(state, ctx, carry, out), binding)
    const text = writer.events(out)
    if (text !== '') write(text)
    if (failure) fail(failure)
    else end()
  }
  return {
    block(block) {
      const out: string[] = []
      let isEnd = false
      let failure: GatewayError | undefined
      const isJson = events.read(kept(block), (value, text) => {
        if (text !== undefined && text === format.sentinel) {
          isEnd = true
          return true
        }
        if (typeof value !== 'object' || value === null) return false
        const event = value as Json
        const isSpecial = text !== undefined && probe.test(text)
        if (isSpecial) {
          if (format.fail && has(text, format.fail) && format.fail.read(event)) {
            failure = streamFailure(event, binding)
            return true
          }
          if (format.usage && has(text, format.usage)) {
            const usage = mergeUsage(exchange.log.usage, readUsage(format.usage.read, event))
            if (usage) exchange.log.usage = usage
          }
          if (format.finish && has(text, format.finish) && format.finish.read(event)) isFinished = true
        }
        if (exchange.log.firstToken === undefined && format.content?.(event)) exchange.log.firstToken = now() - exchange.began
        if (reducer) failure = failureFrom(reducer.event(state, event, ctx, carry, out), binding)
        else pushEvents(out, event, binding.from.stream?.eventLine)
        if (failure) return true
        if (isSpecial && format.end && has(text, format.end) && format.end.read(event)) isEnd = true
        return isEnd
      })
      if (!isJson) failure = notJson(binding)
      if (failure) {
        const told = writer.events(out)
        if (told !== '') write(told)
        fail(failure)
      } else if (isEnd) finish(out)
      else if (out.length > 0) write(writer.events(out))
    },
    bodyEnd() {
      if (isFinished) finish([])
      else fail(CUT())
    },
  }
}

/** A block of events in each of which the digits at some paths are kept. */
function keepDigitsInEvents(block: Buffer, paths: readonly (readonly string[])[]): string {
  if (!mayHold(block, paths)) return textOf(block)
  let kept = ''
  forEachEvent(block.toString('utf8'), (raw, data) => {
    const before = data === undefined ? undefined : Buffer.from(data)
    const after = before && keepDigitsAt(before, paths)
    // What stands beside the data of an event says nothing to mappings.
    kept += after === before ? raw : `data: ${textOf(after as Buffer)}\n\n`
  })
  return kept
}

interface Writer {
  /** Kinds and JSON in turn, as reducers give them. */
  events(list: readonly string[]): string
  /** Both write what is still to be written before. */
  fail(error: GatewayError, before: Buffer | string): void
  end(before: Buffer | string): void
}

/** Seals the ids of events before they are written. */
function sealingWriter(writer: Writer, idSealer: IdSealer): Writer {
  return { ...writer, events: list => writer.events(list.map((text, index) => (index % 2 === 0 ? text : idSealer.event(text)))) }
}

/** Adds what every event of its kind has. */
function completingWriter(writer: Writer, { complete }: Dialect): Writer {
  if (complete === undefined || Object.keys(complete.events).length === 0) return writer
  const { events } = complete
  return { ...writer, events: list => writer.events(completedEvents(list, events)) }
}

/** What a client was told, as far as a failure may have to go on from it: nothing is parsed before there is one. */
interface Recall {
  note(chunk: Buffer | string): void
  told(): { first: Json; last: Json }
}

function createRecall(): Recall {
  let first: Buffer | string | undefined
  let last: Buffer | string | undefined
  const events = (chunk: Buffer | string | undefined): Json[] => {
    const found: Json[] = []
    parseEvents(chunk?.toString() ?? '', data => {
      try {
        found.push(JSON.parse(data))
      } catch {
        // Not an event that tells anything.
      }
    })
    return found
  }
  return {
    note(chunk) {
      // A copy: what is left of it may be a small part of a large read.
      first ??= typeof chunk === 'string' ? chunk : Buffer.from(chunk)
      last = chunk
    },
    told: () => ({ first: events(first)[0], last: events(last).at(-1) }),
  }
}

const DATA = 'data: '

/** Writes a dialect's events in a framing. What ends a stream of the dialect is written where it was translated. */
function createWriter(
  dialect: Dialect,
  framing: 'sse' | 'json_array',
  sink: Sink,
  exchange: Exchange,
  lineEnd: string,
  recall: Recall | undefined,
): Writer {
  const { eventLine, sentinel } = dialect.stream ?? {}
  let isFirst = true
  let wrote = false
  const blankLine = lineEnd + lineEnd
  // Kinds of events are few, and each stands before many.
  const beginnings = new Map<string, string>()
  const beginningOf = (kind: string): string => {
    let beginning = beginnings.get(kind)
    if (beginning === undefined) {
      beginning = `event: ${kind}${lineEnd}${DATA}`
      beginnings.set(kind, beginning)
    }
    return beginning
  }
  const one = (kind: string, text: string): string => {
    if (framing === 'json_array') {
      const before = isFirst ? '[' : ',\r\n'
      isFirst = false
      return before + text
    }
    return (eventLine === undefined ? DATA : beginningOf(kind)) + text + blankLine
  }
  const events = (list: readonly string[]): string => {
    let text = ''
    for (let index = 0; index < list.length; index += 2) text += one(list[index] as string, list[index + 1] as string)
    wrote ||= text !== ''
    return releaseDigits(text)
  }
  return {
    events,
    fail(error, before) {
      const told: string[] = []
      pushEvents(told, errorEvent(dialect, error, exchange.id, recall?.told()), eventLine)
      sink.end(joined([before, events(told), framing === 'json_array' ? ']' : '']))
    },
    end(before) {
      // Bytes that passed hold their own end.
      const after = framing === 'json_array' ? (isFirst ? '[]' : ']') : wrote && sentinel !== undefined ? `data: ${sentinel}\n\n` : ''
      sink.end(joined([before, after]))
    },
  }
}
