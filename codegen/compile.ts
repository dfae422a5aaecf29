// YAML → generated/. START HERE: the data is read, checked, compiled and printed, each in the folder of that name.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { checkProject, checkSchemas } from './check/references.js'
import { dropRest } from './check/rest.js'
import { checkTerms } from './check/terms.js'
import { checkUsages } from './check/usages.js'
import type { Placement } from './compile/output.js'
import { compileProject } from './compile/project.js'
import { BUILT } from './home.js'
import { type Printed, printProject } from './print/project.js'
import { type Project, readProject } from './read/project.js'

/** Compiles the data of some roots, over a base if there is one. Throws a DataError with every finding if something is wrong. */
export function compile(roots: readonly string[], placement: Placement, base?: Project): Printed {
  const read = readProject(roots, base)
  const isSound = checkSchemas(read)
  const project = isSound ? dropRest(read) : read
  checkProject(project, isSound)
  checkTerms(project)
  checkUsages(project)
  const compiled = compileProject(project, placement)
  return printProject(compiled)
}

/** Compiles the data of some roots into a folder. Throws a DataError with every finding if something is wrong. */
export function generate(roots: readonly string[], output: string): Project & Printed {
  const printed = compile(roots, { sluice: path => folderPath(join(output, path), BUILT) })
  rmSync(output, { recursive: true, force: true })
  for (const [path, text] of printed.files) {
    mkdirSync(dirname(join(output, path)), { recursive: true })
    writeFileSync(join(output, path), text)
  }
  return { ...printed.project, ...printed }
}

/** A folder's path relative to a file's import, with a slash at the end. */
function folderPath(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path === '' ? './' : path.startsWith('.') ? `${path}/` : `./${path}/`
}
