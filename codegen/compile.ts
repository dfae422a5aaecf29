// YAML → generated/. START HERE: the data is read, checked, compiled and printed, each in the folder of that name.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Field } from './check/ledger.js'
import { checkProject } from './check/references.js'
import { compileProject } from './compile/project.js'
import { printProject } from './print/project.js'
import type { Finding } from './read/findings.js'
import { type Project, readProject } from './read/project.js'

/** Compiles the data of some roots into a folder. Throws a DataError with every finding where something is wrong. */
export function generate(roots: readonly string[], output: string): Project & { ledger: ReadonlyMap<string, readonly Field[]> } {
  const project = readProject(roots)
  checkProject(project)
  const compiled = compileProject(project)
  write(printProject(project, compiled, output), output)
  return { ...project, ledger: compiled.ledger }
}

/** Puts files in the place of all that is in a folder. */
function write(files: ReadonlyMap<string, string>, output: string): void {
  rmSync(output, { recursive: true, force: true })
  for (const [path, text] of files) {
    mkdirSync(dirname(join(output, path)), { recursive: true })
    writeFileSync(join(output, path), text)
  }
}

export type { Finding }
