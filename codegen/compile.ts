// YAML → generated/. START HERE: the data is read, checked, compiled and printed, each in the folder of that name.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Compiled, compileProject } from './compile/project.js'
import { type Project, readProject } from './read/project.js'

/** The folder of compiled Sluice, which generated modules import from. */
const SLUICE = fileURLToPath(new URL('..', import.meta.url))

/** Compiles the data of some roots into a folder. Throws a DataError with every finding if something is wrong. */
export function generate(roots: readonly string[], output: string): Project & Compiled {
  const compiled = compileProject(readProject(roots), { sluice: path => folderPath(join(output, path), SLUICE) })
  rmSync(output, { recursive: true, force: true })
  for (const [path, text] of compiled.files) {
    mkdirSync(dirname(join(output, path)), { recursive: true })
    writeFileSync(join(output, path), text)
  }
  return { ...compiled.project, ...compiled }
}

/** A folder's path relative to a file's import, with a slash at the end. */
function folderPath(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path === '' ? './' : path.startsWith('.') ? `${path}/` : `./${path}/`
}
