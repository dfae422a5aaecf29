// An operator's overlay, compiled over the built-in project: only what it adds, replaces or changes is made anew.

import { pathToFileURL } from 'node:url'
import { readBase, readVersion } from './base.js'
import { compileProject } from './compile/project.js'
import { type Project, readProject } from './read/project.js'
import { restoreProject } from './read/stored.js'
import { hashOfAll, type UnitCache } from './units.js'

/** The folder of compiled Sluice, whose modules generated ones import. */
const SLUICE = new URL('../', import.meta.url).href

/** The built-in output and its data. */
export interface Home {
  /** The folder with routes/, schemas/, mappings/ and providers/. */
  root: string
  /** The folder of what they were compiled to. */
  generated: string
}

/**
 * The modules of an overlay, by their paths in an output that may stand anywhere. Throws a DataError with every finding where
 * something is wrong with it.
 */
export function compileOverlay(home: Home, overlay: string, cache: UnitCache): ReadonlyMap<string, string> {
  const { project, units } = readBase(home.generated)
  const known = versioned(cache, hashOfAll(readVersion(home.generated), SLUICE))
  const { files } = compileProject(readProject([overlay], restoreProject(project, home.root)), {
    sluice: () => SLUICE,
    base: { url: pathToFileURL(home.generated).href, units },
    cache: known,
  })
  return files
}

/** Data laid over the built-in data, which is as it was compiled: of its files those alone are read that are asked for. */
export function readOver({ root, generated }: Home, over: readonly string[]): Project {
  return readProject(over, restoreProject(readBase(generated).project, root))
}

/** A cache of units as one version of Sluice makes them. */
function versioned(cache: UnitCache, version: string): UnitCache {
  return {
    get: key => cache.get(hashOfAll(version, key)),
    set: (key, unit) => cache.set(hashOfAll(version, key), unit),
  }
}
