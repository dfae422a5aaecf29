// The project's own schemas as checks for the simulator's answers.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { expand, type Schema, schemaId } from '../../codegen/read/schemas.js'

const folder = join(import.meta.dirname, '../../schemas')
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': true, uri: true } })

for (const dialect of readdirSync(folder)) {
  for (const part of ['request', 'response', 'event']) {
    const file = join(folder, dialect, `${part}.yaml`)
    if (existsSync(file)) ajv.addSchema(expand(load(readFileSync(file, 'utf8')) as Schema) as object, schemaId(dialect, part))
  }
}

/** What is wrong with a value, or nothing. */
export function wrong(dialect: string, part: 'request' | 'response' | 'event', value: unknown): string | undefined {
  const check = ajv.getSchema(schemaId(dialect, part))
  if (!check) throw new Error(`no schema ${dialect}/${part}`)
  return check(value) ? undefined : ajv.errorsText(check.errors, { separator: '\n' })
}
