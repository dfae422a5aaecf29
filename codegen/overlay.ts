// Compiles an operator's overlay over the built-in project: only what it adds, replaces or changes is compiled.

import { pathToFileURL } from 'node:url'
import { readBase } from './base.js'
import { compile } from './compile.js'
import { BUILT } from './home.js'
import { restoreProject } from './read/stored.js'
import { hashOfAll, type UnitCache } from './units.js'
import { readVersion } from './version.js'

const SLUICE = `${pathToFileURL(BUILT).href}/`

/** The built-in output and its data. */
export interface Home {
  /** The folder with routes/, schemas/, mappings/ and providers/. */
  root: string
  /** The folder of their compiled output. */
  generated: string
}

/**
 * The modules of an overlay, by their paths in an output whose location is open. Throws a DataError with every finding if
 * something is wrong.
 */
export function compileOverlay(home: Home, overlay: string, cache: UnitCache): ReadonlyMap<string, string> {
  const { project, units } = readBase(home.generated)
  const known = versioned(cache, hashOfAll(readVersion(home.generated), SLUICE))
  const base = { url: pathToFileURL(home.generated).href, units }
  return compile([overlay], { sluice: () => SLUICE, base, cache: known }, restoreProject(project, home.root)).files
}

/** A cache whose units belong to one version of Sluice. */
function versioned(cache: UnitCache, version: string): UnitCache {
  return {
    get: key => cache.get(hashOfAll(version, key)),
    set: (key, unit) => cache.set(hashOfAll(version, key), unit),
  }
}
