// The deadlines of all exchanges, checked together a few times a second: moving one costs an assignment, not a timer.

import { type Indexed, IndexedSet } from './indexed-set.js'

export interface Deadline extends Indexed {
  /** When it expires, on the clock of `now()`; Infinity while it is not armed. */
  due: number
  fire(): void
}

const TICK = 25
/** Milliseconds after which a tick is late: the process was busy, or was not scheduled. */
const LATE = 4 * TICK

const active = new IndexedSet<Deadline>()
let isTicking = false
let swept = 0
let isPassedOver = false

/** Milliseconds on a monotonic clock. */
export const now = (): number => performance.now()

export function watch(deadline: Deadline): void {
  active.add(deadline)
  if (isTicking) return
  // One timer for the life of the process; it does not keep the process alive.
  isTicking = true
  swept = now()
  setInterval(sweep, TICK).unref()
}

export function unwatch(deadline: Deadline): void {
  active.remove(deadline)
}

function sweep(): void {
  const time = now()
  // Data that arrived while the process did not run is read before deadlines expire.
  isPassedOver = !isPassedOver && time - swept > LATE
  swept = time
  if (isPassedOver) return
  active.forEach(deadline => {
    if (deadline.due > time) return
    deadline.due = Number.POSITIVE_INFINITY
    deadline.fire()
  })
}
