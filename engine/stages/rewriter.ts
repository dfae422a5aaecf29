// What replaces texts in an answer on its way to the client: ids, or the name of the model.

import { parseEvents } from '../wire/sse.js'

export interface Rewriter {
  whole(text: string): string
  /** Whole events of a stream. */
  block(text: string): string
  /** The JSON of one event of a stream. */
  event(text: string): string
  /** Whether the rest of a stream stays as it is. */
  isDone?(): boolean
}

/**
 * A block of events with the data of each changed; `isDone`: the rest stays as it is. Data in several lines is not found, and
 * passes.
 */
export function blockWith(text: string, change: (data: string) => string, isDone?: () => boolean): string {
  let made = text
  parseEvents(text, data => {
    made = made.replace(data, () => change(data))
    return isDone?.()
  })
  return made
}

/** One rewriter, and then the other; undefined if there is neither. */
export function inTurn(one: Rewriter | undefined, other: Rewriter | undefined): Rewriter | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return {
    whole: text => other.whole(one.whole(text)),
    block: text => other.block(one.block(text)),
    event: text => other.event(one.event(text)),
  }
}
