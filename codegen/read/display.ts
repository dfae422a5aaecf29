// The path of a file as findings show it.

import { relative } from 'node:path'

/** From the working folder where the file is below it, else whole. */
export function display(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}
