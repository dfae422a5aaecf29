// What mappings are handed by tests, and how what they give is looked at.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Context } from '../engine/plan.js'
import type * as DigitsModule from '../engine/wire/json/digits.js'

export const CONTEXT: Context = {
  model: 'upstream-model',
  requested: 'client-model',
  provider: 'sim',
  stream: false,
  max_output: 8192,
  id: '000000000000000000000001',
  created: 1_700_000_000,
  tag: 'sluice.sim.',
  traits: {},
}

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
