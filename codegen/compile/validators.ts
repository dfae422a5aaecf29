// Generates validators as one ES module; ajv compiles them ahead of time.

import { createRequire } from 'node:module'
import { _, type Code } from 'ajv'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { base64Bytes } from '../../engine/core/text.js'
import { newAjv } from '../read/ajv.js'
import type { SchemaSet } from '../read/schemas.js'

const require = createRequire(import.meta.url)

/**
 * The functions that validators may call, and their code in a printed module. ajv's own two are CommonJS, which ajv requires
 * even if its option `esm` is set; two functions of the engine take their place.
 */
const FUNCTIONS = new Map<unknown, Code>([
  [base64Bytes, _`base64Bytes`],
  [require('ajv/dist/runtime/ucs2length').default, _`codePointLength`],
  [require('ajv/dist/runtime/equal').default, _`deepEqual`],
  [Object.prototype.hasOwnProperty, _`Object.prototype.hasOwnProperty`],
])

/**
 * The text of a module with a validator for each name, which imports only the engine. With `useDefaults` the validators
 * fill in defaults.
 */
export function printValidators(set: SchemaSet, names: ReadonlyMap<string, string>, engine: string, useDefaults = false): string {
  const ajv = newAjv(set, { source: true, useDefaults })
  // Compiled validators have the functions that they call in ajv's scope, each with the code that is printed for it.
  for (const id of names.values()) ajv.getSchema(id)
  for (const called of ajv.scope.get()['func'] ?? []) {
    const code = FUNCTIONS.get(called)
    const inScope = ajv.scope.getValue('func', called)?.value
    if (code === undefined || inScope === undefined)
      throw new Error(`a schema uses a keyword that calls ${typeof called === 'function' ? called.name : called}`)
    inScope.code = code
  }
  const text = standaloneCode.default(ajv, Object.fromEntries(names)).replace(/^"use strict";/, '')
  return `// Made from schemas/ by codegen; do not edit.\nimport { base64Bytes, codePointLength } from ${JSON.stringify(`${engine}/core/text.js`)}\nimport { deepEqual } from ${JSON.stringify(`${engine}/jsonata/sequence.js`)}\n${text}\n`
}
