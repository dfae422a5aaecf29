// The answers of a provider that says some things otherwise than its dialect does: patched as they arrive, so that whatever
// reads them sees the dialect. Calls of endpoints without a patch do not come by here.

import type { Dispatcher } from 'undici'
import { GatewayError } from '../core/errors.js'
import { textOf } from '../core/text.js'
import type { Dialect, Endpoint, Json, StreamFormat } from '../plan.js'
import { type Frames, framings } from '../wire/framing.js'
import { keptText, releaseDigits } from '../wire/json/digits.js'
import { type Blocks, endOfEvent, parseEvents } from '../wire/sse.js'

/** What sends requests. */
export type Sender = Pick<Dispatcher, 'dispatch'>

/** The longest answer that is patched, and the longest event: bytes. What is longer passes as it is, or is a failure. */
const LONGEST_ANSWER = 64 * 1024 * 1024
const LONGEST_EVENT = 32 * 1024 * 1024

const EMPTY = Buffer.alloc(0)

/** A sender whose good answers are those of the dialect; the sender itself where there is nothing to patch. */
export function patchedAnswers(sender: Sender, endpoint: Endpoint, dialect: Dialect): Sender {
  if (endpoint.response === undefined && endpoint.event === undefined) return sender
  return { dispatch: (options, handler) => sender.dispatch(options, new PatchingHandler(handler, endpoint, dialect)) }
}

/** A dialect whose usage is read where a provider tells it; the dialect itself where that is as usual. */
export function withUsageOf({ usage }: Endpoint, dialect: Dialect): Dialect {
  if (usage === undefined) return dialect
  const { markers, read, members } = usage
  const { usageMembers, ...rest } = dialect
  return {
    ...rest,
    usage: read,
    ...(members && members.length > 0 && { usageMembers: members }),
    ...(dialect.stream && { stream: { ...dialect.stream, usage: { markers, read } } }),
  }
}

/** Stands between the HTTP client and the call that it reports to. */
class PatchingHandler implements Dispatcher.DispatchHandler {
  private abort: ((error?: Error) => void) | undefined
  /** What has come of an answer that is patched as a whole. */
  private whole: Buffer[] | undefined
  private length = 0
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
      const type = (headerOf(headers, 'content-type') ?? JSON_TYPE).split(';')[0]?.trim().toLowerCase() ?? ''
      const isStream = stream !== undefined && (framings[stream.framing].isStream(type) || (kind === 'json' && type !== JSON_TYPE))
      if (isStream) {
        if (event) this.events = new EventPatcher(stream, event, this.dialect.verbatim?.event)
      } else if (response && type === JSON_TYPE) this.whole = []
    }
    return this.to.onHeaders?.(status, headers, resume, statusText) ?? true
  }

  onData(chunk: Buffer): boolean {
    const { whole, events } = this
    if (whole) {
      whole.push(chunk)
      this.length += chunk.length
      if (this.length <= LONGEST_ANSWER) return this.give(EMPTY)
      this.whole = undefined
      return this.give(Buffer.concat(whole))
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
      const rest = whole ? this.patched(Buffer.concat(whole)) : events?.rest()
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

  /** Bytes of none tell the call that its upstream is not silent. */
  private give(bytes: Buffer): boolean {
    return this.to.onData?.(bytes) ?? true
  }

  private patched(bytes: Buffer): Buffer {
    const answer = parsed(keptText(bytes, this.dialect.verbatim?.response))
    const patch = answer === undefined ? undefined : this.endpoint.response?.(answer)
    return patch === undefined ? bytes : Buffer.from(releaseDigits(JSON.stringify(patch)))
  }

  private fail(cause: unknown): void {
    const error = new GatewayError('upstream', 'The upstream sent something that is not valid.', { cause })
    this.to.onError?.(error)
    this.abort?.(error)
  }
}

/** Bytes of a stream in, bytes of the same stream in the dialect out. */
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

  /** Throws RangeError where an event is too long, and what the patch throws. */
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

  /** An event as it is sent on. What is no JSON is for others to judge. */
  private written(raw: string, data: string): string {
    const { format, frames } = this
    const event = data === format.sentinel ? undefined : parsed(keptText(Buffer.from(data), this.verbatim, data))
    const patch = event === undefined ? undefined : this.patch(event)
    if (patch === undefined) return this.isText ? raw : frames.event('', data)
    const kindOf = (one: Json): string => String((one as Record<string, Json>)[format.eventLine ?? ''] ?? '')
    return [patch].flat().reduce<string>((made, one) => made + frames.event(kindOf(one), releaseDigits(JSON.stringify(one))), '')
  }
}

const JSON_TYPE = 'application/json'

/** An object of JSON; nothing where a text is none. */
function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** The value of a header, of names and values in turn. */
function headerOf(headers: readonly Buffer[], name: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2)
    if (String(headers[index]).toLowerCase() === name) return String(headers[index + 1])
  return undefined
}
