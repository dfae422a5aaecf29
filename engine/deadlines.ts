// Deadlines of all exchanges, looked at together a few times a second: moving one costs an assignment, not a timer.

import { Roster, type Seated } from './roster.js'

export interface Deadline extends Seated {
  /** When it falls due, on the clock of `now()`; Infinity while it is not armed. */
  due: number
  fire(): void
}

const TICK = 25

const active = new Roster<Deadline>()
let isTicking = false

/** Milliseconds on a clock that never runs backwards. */
export const now = (): number => performance.now()

export function watch(deadline: Deadline): void {
  active.add(deadline)
  if (isTicking) return
  // One for the life of the process: it keeps nothing alive.
  isTicking = true
  setInterval(sweep, TICK).unref()
}

export function unwatch(deadline: Deadline): void {
  active.remove(deadline)
}

function sweep(): void {
  const time = now()
  active.forEach(deadline => {
    if (deadline.due > time) return
    deadline.due = Number.POSITIVE_INFINITY
    deadline.fire()
  })
}
