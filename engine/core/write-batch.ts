// Collects the answers of one turn of the event loop and writes them together at its end. Nothing else is computed between
// two writes: the receiver is woken once and not for each answer, which is the most expensive part of a small answer, and
// the writing code stays in the processor's cache. With one request under way it makes no difference.

/** The most answers in a batch. */
const MOST = 64

let waiting: (() => void)[] = []

/** Runs `run` at the end of the turn, after those that were added before. */
export function atEndOfTurn(run: () => void): void {
  const count = waiting.push(run)
  if (count === 1) setImmediate(leave)
  else if (count === MOST) leave()
}

function leave(): void {
  const all = waiting
  waiting = []
  for (const run of all) run()
}
