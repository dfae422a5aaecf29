// `npm run codegen`: compiles the data of this folder, and writes its types, ROUTES.md and FIELDS.md.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { printFields } from './check/ledger.js'
import { generate } from './compile.js'
import { printRoutes } from './print/routes-md.js'
import { printTypes } from './print/type-declarations.js'
import { DataError } from './read/findings.js'

try {
  const project = generate(['.'], 'generated')
  for (const [path, text] of await printTypes(project)) {
    mkdirSync(dirname(join('generated', path)), { recursive: true })
    writeFileSync(join('generated', path), text)
  }
  writeFileSync('ROUTES.md', printRoutes(project))
  writeFileSync('FIELDS.md', printFields(project.ledger))
} catch (error) {
  if (!(error instanceof DataError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
