// Patches the answers of a provider that deviates from its dialect, as they arrive, so that all readers see the dialect.
// Endpoints without a patch do not use this.

import type { Dispatcher } from 'undici'
import { GatewayError } from '../core/errors.js'
import { Gathered } from '../core/gathered.js'
import { JSON_TYPE, mediaTypeOf } from '../core/media-type.js'
import { textOf } from '../core/text.js'
import type { Dialect, Endpoint, Json, StreamFormat } from '../plan.js'
import { type Frames, framings } from '../wire/framing.js'
import { releaseDigits } from '../wire/json/digits.js'
import { parseJson } from '../wire/json/parse.js'
import { type Blocks, endOfEvent, isSentinel, parseEvents } from '../wire/sse.js'

/** Sends requests. */
export type Sender = Pick<Dispatcher, 'dispatch'>

/**
 * The longest answer, and the longest event, that is patched: bytes. A longer answer passes unpatched, a longer event is a
 * failure.
 */
const LONGEST_ANSWER = 64 * 1024 * 1024
const LONGEST_EVENT = 32 * 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** A sender whose successful answers are patched; the sender itself if there is no patch. */
export function patchedAnswers(sender: Sender, endpoint: Endpoint, dialect: Dialect): Sender {
  if (endpoint.response === undefined && endpoint.event === undefined) return sender
  return { dispatch: (options, handler) => sender.dispatch(options, new PatchingHandler(handler, endpoint, dialect)) }
}

/** A dialect that reads usage from the provider's own places; the dialect itself if there are none. */
export function withUsageOf({ usage }: Endpoint, dialect: Dialect): Dialect {
  if (usage === undefined) return dialect
  const { markers, read, members, told } = usage
  const { usageMembers, meters, ...rest } = dialect
  return {
    ...rest,
    usage: read,
    meters: { told, asked: meters?.asked ?? [] },
    ...(members && members.length > 0 && { usageMembers: members }),
    ...(dialect.stream && { stream: { ...dialect.stream, usage: { markers, read } } }),
  }
}

/** Sits between the HTTP client and the handler of the call. */
class PatchingHandler implements Dispatcher.DispatchHandler {
  private abort: ((error?: Error) => void) | undefined
  /** The bytes so far of an answer that is patched as a whole. */
  private whole: Gathered | undefined
  private events: EventPatcher | undefined

  constructor(
    private readonly to: Dispatcher.DispatchHandler,
    private readonly endpoint: Endpoint,
    private readonly dialect: Dialect,
  ) {}

  onConnect(abort: (error?: Error) => void): void {
    this.abort = abort
    this.to.onConnect?.(abort)
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    const { response, event } = this.endpoint
    const { stream, response: kind } = this.dialect
    if (status >= 200 && status < 300 && headerOf(headers, 'content-encoding') === undefined) {
      const type = mediaTypeOf(headerOf(headers, 'content-type') ?? JSON_TYPE)
      const isStream = stream !== undefined && (framings[stream.framing].isStream(type) || (kind === 'json' && type !== JSON_TYPE))
      if (isStream) {
        if (event) this.events = new EventPatcher(stream, event, this.dialect.verbatim?.event)
      } else if (response && type === JSON_TYPE) this.whole = new Gathered()
    }
    return this.to.onHeaders?.(status, headers, resume, statusText) ?? true
  }

  onData(chunk: Buffer): boolean {
    const { whole, events } = this
    if (whole) {
      whole.push(chunk)
      if (whole.length <= LONGEST_ANSWER) return this.give(EMPTY)
      this.whole = undefined
      return this.give(whole.take())
    }
    if (events === undefined) return this.give(chunk)
    try {
      return this.give(events.push(chunk))
    } catch (error) {
      this.fail(error)
      return false
    }
  }

  onComplete(trailers: string[] | null): void {
    const { whole, events } = this
    try {
      const rest = whole ? this.patched(whole.take()) : events?.rest()
      if (rest !== undefined && rest.length > 0) this.give(rest)
    } catch (error) {
      this.fail(error)
      return
    }
    this.to.onComplete?.(trailers)
  }

  onError(error: Error): void {
    this.to.onError?.(error)
  }

  /** An empty chunk still tells the call that its upstream is not silent. */
  private give(bytes: Buffer): boolean {
    return this.to.onData?.(bytes) ?? true
  }

  private patched(bytes: Buffer): Buffer {
    const answer = parsed(bytes, this.dialect.verbatim?.response)
    const patch = answer === undefined ? undefined : this.endpoint.response?.(answer)
    return patch === undefined ? bytes : Buffer.from(releaseDigits(JSON.stringify(patch)))
  }

  private fail(cause: unknown): void {
    const error = new GatewayError('upstream', 'The upstream sent an invalid answer.', { cause })
    this.to.onError?.(error)
    this.abort?.(error)
  }
}

/** Takes bytes of a stream and returns bytes of the same stream, patched. */
class EventPatcher {
  private readonly blocks: Blocks
  private readonly frames: Frames
  private readonly isText: boolean

  constructor(
    private readonly format: StreamFormat,
    private readonly patch: (event: Json) => Json,
    private readonly verbatim: readonly (readonly string[])[] | undefined,
  ) {
    const framing = framings[format.framing]
    this.blocks = framing.blocks(LONGEST_EVENT)
    this.frames = framing.frames(format, '\n')
    this.isText = framing.passes
  }

  /** Throws RangeError if an event is too long, and the errors of the patch. */
  push(chunk: Buffer): Buffer {
    const block = this.blocks.push(chunk)
    return block === undefined ? EMPTY : this.patched(block)
  }

  rest(): Buffer {
    const rest = this.blocks.rest()
    return rest === undefined ? EMPTY : this.patched(rest)
  }

  private patched(block: Buffer): Buffer {
    const text = textOf(block)
    let made = ''
    for (let start = 0; start < text.length; ) {
      const end = endOfEvent(text, start)
      const raw = text.slice(start, end)
      let data: string | undefined
      parseEvents(raw, value => {
        data = value
      })
      made += data === undefined ? raw : this.written(raw, data)
      start = end
    }
    return Buffer.from(made)
  }

  /** The patched event. Data that is not JSON passes; another stage judges it. */
  private written(raw: string, data: string): string {
    const { format, frames } = this
    const event = isSentinel(data, format.sentinel) ? undefined : parsed(Buffer.from(data), this.verbatim, data)
    const patch = event === undefined ? undefined : this.patch(event)
    if (patch === undefined) return this.isText ? raw : frames.event('', data)
    const kindOf = (one: Json): string => String((one as Record<string, Json>)[format.eventLine ?? ''] ?? '')
    return [patch].flat().reduce<string>((made, one) => made + frames.event(kindOf(one), releaseDigits(JSON.stringify(one))), '')
  }
}

/** A JSON object; undefined if the bytes are not one. */
function parsed(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, text?: string): Json | undefined {
  try {
    const value = parseJson(bytes, verbatim, text)
    return typeof value === 'object' && value !== null ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** The value of a header in a list of alternating names and values. */
function headerOf(headers: readonly Buffer[], name: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2)
    if (String(headers[index]).toLowerCase() === name) return String(headers[index + 1])
  return undefined
}
