// What is at a path. A path comes from a file that somebody edits, so whatever the system says of it is an answer.

import { type BigIntStats, statSync } from 'node:fs'

/** The status of what is there, or the code of the reason why there is none. */
export function statusOf(path: string): BigIntStats | string {
  try {
    return statSync(path, { bigint: true })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

export function isFolder(path: string): boolean {
  const status = statusOf(path)
  return typeof status !== 'string' && status.isDirectory()
}
