// Processes that are stuck: a child tells its parent every second that it still runs, and the parent kills one that has
// stopped doing so. Whoever restarts ended children then starts another.

import type { ChildProcess } from 'node:child_process'

/** Milliseconds between two beats. */
export const EVERY = 1_000
/** Beats that may be missing: far more than a busy machine, a slow disk or a question about a large store makes a process miss. */
export const MISSING = 60

/** A child's message to its parent. */
export interface Beat {
  alive: true
}

/** Begins to tell the parent, if there is one, that this process is not stuck. Call it when a long start is over. */
export function beat(every = EVERY): void {
  const tell = (): void => void process.send?.({ alive: true } satisfies Beat, () => undefined)
  tell()
  setInterval(tell, every).unref()
}

/**
 * Kills a child whose beats have stopped, and calls `onStuck` before. Counts the parent's own turns and not the time, because
 * a machine may sleep, or the parent be busy: the child's beats wait for it meanwhile.
 */
export function watchBeats(child: ChildProcess, onStuck: () => void, every = EVERY): void {
  let missing = Number.NEGATIVE_INFINITY
  const timer = setInterval(() => {
    if (++missing < MISSING) return
    clearInterval(timer)
    onStuck()
    child.kill('SIGKILL')
  }, every).unref()
  child.on('message', (message: object) => {
    if ('alive' in message) missing = 0
  })
  child.on('exit', () => clearInterval(timer))
}
