// The inputs that tests give to mappings, and helpers for their results.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { load } from 'js-yaml'
import type { Context } from '../engine/plan.js'
import type * as DigitsModule from '../engine/wire/json/digits.js'

const grammar = load(readFileSync(join(import.meta.dirname, '..', 'schemas/config/case.yaml'), 'utf8')) as {
  $defs: { ctx: { properties: Record<string, { default?: unknown }> } }
}

export const CONTEXT = Object.fromEntries(
  Object.entries(grammar.$defs.ctx.properties).flatMap(([name, key]) => ('default' in key ? [[name, key.default]] : [])),
) as unknown as Context

// What compiled mappings use: a module by another address would know no digits of theirs.
export const { releaseDigits: released } = (await import(
  pathToFileURL(join(import.meta.dirname, '..', 'dist/engine/wire/json/digits.js')).href
)) as typeof DigitsModule

/** As it would be on the wire: what is absent is gone. */
export function wire<Value>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(released(JSON.stringify(value))) as Value)
}

/** A mapping that changes what it is handed fails where it does. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) frozen(item)
  }
  return value
}
