// Writes the client's events in the framing of its dialect.

import { errorEvent, type GatewayError } from '../../core/errors.js'
import type { Exchange, Sink } from '../../core/exchange.js'
import { pushEvents } from '../../jsonata/events.js'
import type { Dialect, Json, KeepRule } from '../../plan.js'
import type { Framing } from '../../wire/framing.js'
import { completedEvents } from '../../wire/json/complete.js'
import { isTooDeep } from '../../wire/json/depth.js'
import { releaseDigits } from '../../wire/json/digits.js'
import { parseEvents } from '../../wire/sse.js'
import type { Rewriter } from '../rewriter.js'
import { joined, type Piece } from './pieces.js'

export interface EventWriter {
  /** Kinds and JSON alternate, as reducers return them. */
  events(list: readonly string[]): string
  /** Writes a failure, after the output that is still pending. */
  fail(error: GatewayError, before: Piece | undefined): void
  end(before: Piece | undefined): void
}

/** Rewrites events before they are written. */
export function rewritingWriter(writer: EventWriter, rewriter: Rewriter): EventWriter {
  return { ...writer, events: list => writer.events(list.map((text, index) => (index % 2 === 0 ? text : rewriter.event(text)))) }
}

/** Keeps the whole answer when an event holds it, before the event is written. */
export function keepingWriter(writer: EventWriter, { final, answer }: KeepRule, keep: (answer: Json) => void): EventWriter {
  return {
    ...writer,
    events(list) {
      for (let index = 1; index < list.length; index += 2) {
        const text = list[index] as string
        if (!final.some(marker => text.includes(marker))) continue
        const whole = answer(JSON.parse(releaseDigits(text)))
        if (whole !== undefined) keep(whole)
      }
      return writer.events(list)
    },
  }
}

/** Adds the members that every event of its kind has. */
export function completingWriter(writer: EventWriter, { complete }: Dialect): EventWriter {
  if (complete === undefined || Object.keys(complete.events).length === 0) return writer
  const { events } = complete
  return { ...writer, events: list => writer.events(completedEvents(list, events)) }
}

/**
 * Remembers the first and last output, because an error event may have to continue from it. Nothing is parsed before a
 * failure.
 */
export interface Recall {
  note(chunk: Buffer | string): void
  told(): { first: Json; last: Json }
}

export function createRecall(): Recall {
  let first: Buffer | string | undefined
  let last: Buffer | string | undefined
  const events = (chunk: Buffer | string | undefined): Json[] => {
    const found: Json[] = []
    parseEvents(chunk?.toString() ?? '', data => {
      try {
        const event: Json = JSON.parse(data)
        // A provider may nest what passes unread so deep that it could not be written again.
        if (!isTooDeep(event, data.length)) found.push(event)
      } catch {
        // The text is not an event with data.
      }
    })
    return found
  }
  return {
    note(chunk) {
      // A copy: the chunk may be a small part of a large read, which it would keep in memory.
      first ??= typeof chunk === 'string' ? chunk : Buffer.from(chunk)
      last = chunk
    },
    told: () => ({ first: events(first)[0], last: events(last).at(-1) }),
  }
}

/** Writes a dialect's events in a framing. A translated stream writes the sentinel of its dialect itself. */
export function createWriter(
  dialect: Dialect,
  framing: Framing,
  sink: Sink,
  exchange: Exchange,
  lineEnd: string,
  recall: Recall | undefined,
): EventWriter {
  const frames = framing.frames(dialect.stream ?? {}, lineEnd)
  const events = (list: readonly string[]): string => {
    let text = ''
    for (let index = 0; index < list.length; index += 2) text += frames.event(list[index] as string, list[index + 1] as string)
    return releaseDigits(text)
  }
  return {
    events,
    fail(error, before) {
      const told: string[] = []
      pushEvents(told, errorEvent(dialect, error, exchange.id, recall?.told()), dialect.stream?.eventLine)
      sink.end(last(before, events(told), frames.failed()))
    },
    end: before => sink.end(last(before, frames.end())),
  }
}

/** The last output. Without anything behind it, what is before need not be copied. */
function last(...pieces: (Piece | undefined)[]): Piece {
  return joined(pieces.filter((piece): piece is Piece => piece !== undefined && piece !== '')) ?? ''
}
