// `npm run codegen`: compiles the data of this folder, and writes its types and docs/reference.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeBase } from './base.js'
import { generate } from './compile.js'
import { printPages } from './print/pages.js'
import { printRules } from './print/rules-md.js'
import { printTypes } from './print/type-declarations.js'
import { DataError } from './read/findings.js'

try {
  const project = generate(['.'], 'generated')
  writeBase('generated', project)
  for (const [path, text] of await printTypes(project)) {
    mkdirSync(dirname(join('generated', path)), { recursive: true })
    writeFileSync(join('generated', path), text)
  }
  for (const [path, text] of printPages(project)) writeFileSync(join('docs/reference', path), text)
  rmSync('docs/rules', { recursive: true, force: true })
  for (const [path, text] of printRules()) {
    mkdirSync(dirname(join('docs/rules', path)), { recursive: true })
    writeFileSync(join('docs/rules', path), text)
  }
} catch (error) {
  if (!(error instanceof DataError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
