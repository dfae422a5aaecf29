// Splits events and keeps their original text.

import { endOfEvent, parseEvents } from '../../wire/sse.js'

/** Calls `each` for every event with its original text, so that one of them can be left out. */
export function forEachEvent(text: string, each: (raw: string, data: string | undefined) => void): void {
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
