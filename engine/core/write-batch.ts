// What goes to clients leaves at the end of a turn of the event loop, together. Between two answers nothing is computed
// then: whoever receives them is woken once and not for each, which is the dearest part of sending a small answer, and
// the code that answers stays in the processor's cache. With one request under way it makes no difference.

/** So many at most wait for each other. */
const MOST = 64

let waiting: (() => void)[] = []

/** Runs it when the turn is over, after all that asked for it before. */
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
