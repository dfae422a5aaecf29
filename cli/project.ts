// The data that a command is about.

import { join } from 'node:path'
import { readOver } from '../codegen/overlay.js'
import { type Project, readProject } from '../codegen/read/project.js'
import { HOME } from './home.js'
import { rootsOf } from './overlay.js'

/**
 * A folder's own data over the built-in data, as that was compiled: to read all of it anew would take a second. In the folder of
 * the built-in data itself it is read, for it may have changed. Throws a UsageError where there is no such folder.
 */
export function projectOf(folder: string): Project {
  const { own, isOurs } = rootsOf(folder)
  return isOurs ? readProject([HOME]) : builtIn(own === undefined ? [] : [own])
}

/** The built-in data as it was compiled, and other folders over it. */
export function builtIn(over: readonly string[] = []): Project {
  return readOver({ root: HOME, generated: join(HOME, 'generated') }, over)
}
