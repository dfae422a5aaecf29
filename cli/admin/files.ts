// The files that a user names on the command line.

import { readFileSync } from 'node:fs'
import { UsageError } from '../output.js'

/** The text of a file. Throws a `UsageError` if it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(code === 'ENOENT' ? `The file ${file} does not exist.` : `The file ${file} cannot be read: ${code}.`)
  }
}
