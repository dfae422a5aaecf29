// `npm run codegen`: compiles the data of this folder, and writes ROUTES.md.

import { writeFileSync } from 'node:fs'
import { DataError } from './findings.js'
import { generate } from './generate.js'
import { printFields } from './ledger.js'
import { printRoutes } from './routes-md.js'

try {
  const project = generate(['.'], 'generated')
  writeFileSync('ROUTES.md', printRoutes(project))
  writeFileSync('FIELDS.md', printFields(project.ledger))
} catch (error) {
  if (!(error instanceof DataError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
