// Versions of what is compiled and of the catalogue: apart from what reads and compiles, which whoever only compares them
// need not load.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The hash of the code and data that were compiled into a folder: the output of another version cannot be reused. */
export function readVersion(folder: string): string {
  return readFileSync(join(folder, 'version'), 'utf8')
}

/** Below 0 if a version is older than another, above 0 if it is newer. */
export function compareVersions(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true })
}
