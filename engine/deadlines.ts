// Deadlines of all exchanges, looked at together a few times a second: moving one costs an assignment, not a timer.

export interface Deadline {
  /** When it falls due, on the clock of `now()`; Infinity while it is not armed. */
  due: number
  fire(): void
}

const TICK = 25

const active = new Set<Deadline>()
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
  active.delete(deadline)
}

function sweep(): void {
  const time = now()
  for (const deadline of active) {
    if (deadline.due <= time) {
      deadline.due = Number.POSITIVE_INFINITY
      deadline.fire()
    }
  }
}
