// The data that a command works on.

import { readBase } from '../codegen/base.js'
import { dropRest } from '../codegen/check/rest.js'
import { HOME } from '../codegen/home.js'
import { type Project, readProject } from '../codegen/read/project.js'
import { restoreProject } from '../codegen/read/stored.js'
import { GENERATED } from './overlay/inputs.js'
import { rootsOf } from './overlay.js'

/**
 * A folder's own data over the compiled built-in data, because reading all of it would take a second. In the folder of the
 * built-in data itself everything is read, because it may have changed. Throws a UsageError if the folder does not exist.
 */
export function projectOf(folder: string): Project {
  const { own, isOurs } = rootsOf(folder)
  return isOurs ? dropRest(readProject([HOME])) : builtIn(own === undefined ? [] : [own])
}

/** The compiled built-in data, of which a file is read only when something needs it, and other folders over it. */
export function builtIn(over: readonly string[] = []): Project {
  return dropRest(uncheckedProject(over))
}

/** The same for folders that may be wrong: fields that their mappings drop with the rest are not looked for. */
export function uncheckedProject(over: readonly string[]): Project {
  return readProject(over, restoreProject(readBase(GENERATED).project, HOME))
}
