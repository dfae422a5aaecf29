// A small valid request or answer of a dialect: the shortest in the cases, or one with only the required members.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newAjv } from '../../codegen/read/ajv.js'
import type { Project } from '../../codegen/read/project.js'
import { resolveReference, type Schema, schemaId } from '../../codegen/read/schemas.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import { isObject } from '../../engine/core/members.js'
import type { CaseData } from '../../schemas/config/types.js'

export type Part = 'request' | 'response'

/** Finds examples in the cases below some roots. */
export function exampleFinder(project: Project, roots: readonly string[]): (dialect: string, part: Part) => unknown {
  const ajv = newAjv(project.schemas)
  const pairs = roots.flatMap(root => pairsBelow(join(root, 'mappings')))
  // A dialect is asked for more than once, and a pair is one of two dialects.
  const read = new Map<string, Partial<CaseData>[]>()
  const casesOf = (folder: string): Partial<CaseData>[] => {
    const cases = read.get(folder) ?? casesIn(folder)
    read.set(folder, cases)
    return cases
  }
  return (dialect, part) => {
    const id = schemaId(dialect, part)
    const check = ajv.getSchema(id)
    const seen = pairs
      .filter(({ from, to }) => from === dialect || to === dialect)
      .flatMap(({ from, to, folder }) =>
        casesOf(folder).flatMap(value => [
          ...(from === dialect ? [part === 'request' ? value.request?.in : value.response?.out] : []),
          ...(to === dialect ? [part === 'request' ? value.request?.out : value.response?.in] : []),
        ]),
      )
    const least = project.schemas.has(id) ? leastOf(project.schemas, project.schemas.get(id) as Schema, id, 0) : {}
    return [...seen, least]
      .filter(isObject)
      .map(value => ({ value, length: JSON.stringify(value).length }))
      .sort((left, right) => left.length - right.length)
      .find(({ value }) => check === undefined || check(value))?.value
  }
}

/** The mappings with cases below a folder. */
function pairsBelow(mappings: string): { from: string; to: string; folder: string }[] {
  if (!existsSync(mappings)) return []
  return readdirSync(mappings).flatMap(pair => {
    const [from, to] = pair.split('-to-')
    const folder = join(mappings, pair, 'cases')
    return from === undefined || to === undefined || !existsSync(folder) ? [] : [{ from, to, folder }]
  })
}

function casesIn(folder: string): Partial<CaseData>[] {
  return readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .flatMap(file => parseYaml(file, readFileSync(join(folder, file), 'utf8'), []))
    .map(({ value }) => Object(value) as Partial<CaseData>)
}

/** Deeper schemas are recursive. */
const DEEPEST = 12

/** Only the required members of a schema; it may be invalid if the schema restricts more than the shape. */
function leastOf(set: ReadonlyMap<string, Schema>, schema: Schema, base: string, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null || depth > DEEPEST) return 'text'
  if (typeof schema.$ref === 'string') {
    const target = resolveReference(set, schema.$ref, base)
    return target ? leastOf(set, target.schema, target.base, depth + 1) : 'text'
  }
  if ('const' in schema) return schema.const
  for (const chosen of [schema.enum, schema.examples]) if (Array.isArray(chosen) && chosen.length > 0) return chosen[0] as unknown
  if (schema.default !== undefined) return schema.default
  const branch = ((schema.anyOf ?? schema.oneOf) as Schema[] | undefined)?.[0]
  if (branch !== undefined && schema.properties === undefined) return leastOf(set, branch, base, depth + 1)
  const inside = (item: unknown): unknown => leastOf(set, (item ?? {}) as Schema, base, depth + 1)
  switch ([schema.type].flat()[0] ?? (schema.properties === undefined ? 'string' : 'object')) {
    case 'object': {
      const properties = Object(schema.properties) as Record<string, unknown>
      return Object.fromEntries(((schema.required as string[] | undefined) ?? []).map(name => [name, inside(properties[name])]))
    }
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => inside(schema.items))
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0)
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return 'text'
  }
}
