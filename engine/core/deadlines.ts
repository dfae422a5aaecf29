// Deadlines of all exchanges, looked at together a few times a second: moving one costs an assignment, not a timer.

import { type Indexed, IndexedSet } from './indexed-set.js'

export interface Deadline extends Indexed {
  /** When it falls due, on the clock of `now()`; Infinity while it is not armed. */
  due: number
  fire(): void
}

const TICK = 25
/** After so long the process has been busy, or has not been given the processor. */
const LATE = 4 * TICK

const active = new IndexedSet<Deadline>()
let isTicking = false
let swept = 0
let isPassedOver = false

/** Milliseconds on a clock that never runs backwards. */
export const now = (): number => performance.now()

export function watch(deadline: Deadline): void {
  active.add(deadline)
  if (isTicking) return
  // One for the life of the process: it keeps nothing alive.
  isTicking = true
  swept = now()
  setInterval(sweep, TICK).unref()
}

export function unwatch(deadline: Deadline): void {
  active.remove(deadline)
}

function sweep(): void {
  const time = now()
  // What came in time, while this process did not run, is read before the next one.
  isPassedOver = !isPassedOver && time - swept > LATE
  swept = time
  if (isPassedOver) return
  active.forEach(deadline => {
    if (deadline.due > time) return
    deadline.due = Number.POSITIVE_INFINITY
    deadline.fire()
  })
}
