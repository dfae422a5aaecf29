// What a scenario tells a provider to answer, and its events as they stand on the wire.

import type { ScenarioData } from '../../schemas/config/types.js'
import type { Answered } from './stand-in.js'

export type Script = ScenarioData['upstream'][number]['answers']

/** A text is the event as it stands on the wire, without its blank line; an object is its data, and its `type` the event line. */
export type ScenarioEvent = string | Record<string, unknown>

/** The bytes of an answer. */
export function scripted({ status = 200, headers, body, events, chunks, wait, delays, cut }: Partial<Script>): Answered {
  const pieces = chunks ?? (events as ScenarioEvent[] | undefined)?.map(eventText)
  return {
    status,
    headers: { 'content-type': events ? 'text/event-stream' : 'application/json', ...headers },
    body: pieces ?? (typeof body === 'string' ? body : JSON.stringify(body ?? {})),
    ...(wait !== undefined && { wait }),
    ...(delays && { delays }),
    ...(cut && { isCut: true }),
  }
}

/** One event as it stands on the wire. */
export function eventText(event: ScenarioEvent): string {
  if (typeof event === 'string') return `${event}\n\n`
  const line = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
  return `${line}data: ${JSON.stringify(event)}\n\n`
}
