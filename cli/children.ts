// Starts processes of the gateway's own, and tells once how each of them ended, also if it never began.

import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'

/** `error` is why it could not be started, as when the file of Node is being replaced or there are too many processes. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  error?: Error
}

/** Returns undefined if the process could not be started. `onEnded` is called later in that case, too. */
export function startChild(
  file: string,
  args: readonly string[],
  options: ForkOptions,
  onEnded: (how: Ended) => void,
): ChildProcess | undefined {
  const failed = (error: unknown): void => onEnded({ code: null, signal: null, error: error as Error })
  let child: ChildProcess
  try {
    child = fork(file, args, options)
  } catch (error) {
    // Some of the system's errors are thrown, such as a lack of memory.
    setImmediate(failed, error)
    return undefined
  }
  if (child.pid === undefined) {
    child.once('error', failed)
    return undefined
  }
  // A process that runs has errors, too, such as a signal that cannot be sent: it ends, or goes on.
  child.on('error', () => undefined)
  child.once('exit', (code, signal) => onEnded({ code, signal }))
  return child
}
