// What replaces texts in an answer on its way to the client: ids, or the name of the model.

export interface Rewriter {
  whole(text: string): string
  /** Whole events of a stream. */
  block(text: string): string
  /** The JSON of one event of a stream. */
  event(text: string): string
  /** Whether the rest of a stream stays as it is. */
  isDone?(): boolean
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
