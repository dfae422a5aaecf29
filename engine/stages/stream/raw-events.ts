// Splits events and keeps their original text.

import { endOfEvent, parseEvents } from '../../wire/sse.js'

/** Calls `each` for every event with its original text, so that one of them can be left out. */
export function forEachEvent(text: string, each: (raw: string, data: string | undefined, isError: boolean) => void): void {
  let start = 0
  while (start < text.length) {
    const stop = endOfEvent(text, start)
    const raw = text.slice(start, stop)
    let data: string | undefined
    let isError = false
    parseEvents(raw, (value, isOne) => {
      data = value
      isError = isOne
    })
    each(raw, data, isError)
    start = stop
  }
}
