// The specs of our own YAML, for commands that read files of one kind and no project.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { HOME } from '../codegen/home.js'
import type { Schema } from '../codegen/read/schemas.js'
import { withShared } from '../codegen/read/shared.js'
import type { SpecSchema } from '../codegen/read/spec.js'

const known = new Map<string, ReadonlyMap<string, Schema>>()

/** The spec of a kind of file, by its name, as a check wants it. */
export function specsOf(name: string): ReadonlyMap<string, Schema> {
  let found = known.get(name)
  if (found === undefined) {
    found = new Map([[name, withShared(read(name), read)]])
    known.set(name, found)
  }
  return found
}

function read(name: string): Schema {
  return load(readFileSync(join(HOME, 'schemas', 'config', `${name}.yaml`), 'utf8')) as Schema
}

/** The spec itself. */
export function specOf(name: string): SpecSchema {
  return specsOf(name).get(name) as SpecSchema
}
