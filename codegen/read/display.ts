// File paths in findings.

import { relative } from 'node:path'

/** Relative to the working folder if the file is below it, else absolute. */
export function display(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}
