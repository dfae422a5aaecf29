// The data that a command works on.

import { join } from 'node:path'
import { readOver } from '../codegen/overlay.js'
import { type Project, readProject } from '../codegen/read/project.js'
import { HOME } from './home.js'
import { rootsOf } from './overlay.js'

/**
 * A folder's own data over the compiled built-in data, because reading all of it would take a second. In the folder of the
 * built-in data itself everything is read, because it may have changed. Throws a UsageError if the folder does not exist.
 */
export function projectOf(folder: string): Project {
  const { own, isOurs } = rootsOf(folder)
  return isOurs ? readProject([HOME]) : builtIn(own === undefined ? [] : [own])
}

/** The compiled built-in data, and other folders over it. */
export function builtIn(over: readonly string[] = []): Project {
  return readOver({ root: HOME, generated: join(HOME, 'generated') }, over)
}
