// The base of overlays: the built-in project as it was compiled. It is in generated/, beside its modules: `base.json`, and
// in `version` a hash of the data and of the code that compiled it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT } from './home.js'
import type { Printed } from './print/project.js'
import { type StoredProject, storeProject } from './read/stored.js'
import { hashOfAll, type KnownUnits } from './units.js'

export interface Base {
  project: StoredProject
  units: KnownUnits
}

/** Writes what overlays need of a project that was compiled into a folder. The working folder is the project's root. */
export function writeBase(folder: string, { project, units }: Printed): void {
  const text = JSON.stringify({ project: storeProject(project), units } satisfies Base)
  writeFileSync(join(folder, 'base.json'), text)
  writeFileSync(join(folder, 'version'), hashOfAll(text, codeOf('codegen'), codeOf('engine')))
}

/** Reads what `writeBase` wrote into a folder. */
export function readBase(folder: string): Base {
  return JSON.parse(readFileSync(join(folder, 'base.json'), 'utf8')) as Base
}

/** The text of each module in a folder of compiled Sluice. */
function codeOf(folder: string): string[] {
  const root = join(BUILT, folder)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js'))
  return files.sort().map(name => readFileSync(join(root, name), 'utf8'))
}
