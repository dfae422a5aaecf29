// Generates validators as one ES module; ajv compiles them ahead of time.

import type { Ajv2020 } from 'ajv/dist/2020.js'
import standaloneCode from 'ajv/dist/standalone/index.js'
import { newAjv } from '../read/ajv.js'
import type { SchemaSet } from '../read/schemas.js'

/**
 * The text of a module with a validator for each name, which imports only the engine. With `useDefaults` the validators
 * fill in defaults.
 */
export function printValidators(set: SchemaSet, names: ReadonlyMap<string, string>, engine: string, useDefaults = false): string {
  const ajv = newAjv(set, { source: true, useDefaults })
  const exports: Record<string, string> = {}
  for (const [name, id] of names) exports[name] = id
  const make = (standaloneCode as unknown as { default?: typeof standaloneCode }).default ?? standaloneCode
  const code = (make as unknown as (ajv: Ajv2020, exports: Record<string, string>) => string)(ajv, exports)
  // ajv's own run time is CommonJS; the two small functions that it uses are replaced by ours.
  const text = code
    .replaceAll('require("ajv/dist/runtime/ucs2length").default', 'codePointLength')
    .replaceAll('require("ajv/dist/runtime/equal").default', 'deepEqual')
    .replaceAll('require("base64Bytes")', 'base64Bytes')
    .replace(/^"use strict";/, '')
  const left = /require\("([^"]+)"\)/.exec(text)
  if (left) throw new Error(`a schema uses a keyword or format that needs ${left[1]}`)
  return `// Made from schemas/ by codegen; do not edit.\nimport { base64Bytes, codePointLength } from ${JSON.stringify(`${engine}/core/text.js`)}\nimport { deepEqual } from ${JSON.stringify(`${engine}/jsonata/sequence.js`)}\n${text}\n`
}
