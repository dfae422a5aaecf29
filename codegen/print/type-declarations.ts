// Prints TypeScript types of the dialects and of the inputs and outputs of generated mappings: for authors of code against
// them, and for tsc. Nothing at run time reads them.

import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { type Project, sidesOf } from '../read/project.js'
import { resolveReference, type Schema, type SchemaSet, schemaId, type Union } from '../read/schemas.js'

/** The text of `types/<dialect>.d.ts` for each dialect, and of a `.d.ts` beside each mapping; by path. */
export async function printTypes(project: Project): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const parts = new Map<string, string[]>()
  for (const id of project.schemas.keys()) {
    const [dialect, part] = id.slice(schemaId('', '').length - 1).split('/') as [string, string]
    parts.set(dialect, [...(parts.get(dialect) ?? []), part])
  }
  for (const [dialect, names] of parts) {
    // One schema for the whole dialect, so that its parts share types.
    const root: Record<string, unknown> = { type: 'object', properties: {}, $defs: {}, additionalProperties: false }
    for (const name of names)
      (root.properties as Record<string, unknown>)[name] = bundle(
        project.schemas,
        schemaId(dialect, name),
        root.$defs as Record<string, unknown>,
        typeName(dialect, name),
      )
    const text = await compile(root as JSONSchema, typeName(dialect, 'dialect'), {
      bannerComment: `/* Made from schemas/${dialect}/ by codegen; do not edit. */`,
      format: false,
      unknownAny: true,
      unreachableDefinitions: false,
    })
    files.set(`types/${dialect}.d.ts`, text)
  }
  for (const name of project.mappings.keys()) files.set(`mappings/${name}.d.ts`, mappingTypes(name, parts))
  return files
}

function typeName(dialect: string, part: string): string {
  return `${dialect}_${part}`.replaceAll(/(^|_)([a-z])/g, (_, _before, letter: string) => letter.toUpperCase())
}

function mappingTypes(name: string, parts: ReadonlyMap<string, string[]>): string {
  const { from, to } = sidesOf(name)
  const type = (dialect: string, part: string): string =>
    parts.get(dialect)?.includes(part) ? `import('../types/${dialect}.js').${typeName(dialect, part)}` : 'unknown'
  return `// Made from mappings/${name}/mapping.yaml by codegen; do not edit.
import type { Context, State } from '../../engine/plan.js'
export function carry(input: ${type(from, 'request')}, ctx: Context): unknown
export function request(input: ${type(from, 'request')}, ctx: Context, carry: unknown): ${type(to, 'request')}
export function response(input: ${type(to, 'response')}, ctx: Context, carry: unknown): ${type(from, 'response')}
export function start(): State
export function event(state: State, input: ${type(to, 'event')}, ctx: Context, carry: unknown, out: string[]): void
export function done(state: State, ctx: Context, carry: unknown, out: string[]): void
export function dropped(input: ${type(from, 'request')}, ctx: Context, sent?: ${type(to, 'request')}): string[]
export function refused(input: ${type(from, 'request')}, ctx: Context): { param: string; why: string; named?: unknown } | undefined
`
}

/** A schema with all referenced schemas under `definitions`, and our own keywords replaced by standard ones. */
function bundle(set: SchemaSet, id: string, definitions: Record<string, unknown>, title: string): unknown {
  const convert = (schema: unknown, base: string): unknown => {
    if (typeof schema !== 'object' || schema === null) return schema
    if (Array.isArray(schema)) return schema.map(item => convert(item, base))
    const {
      $ref,
      union,
      title: _title,
      if: _if,
      then: _then,
      else: _else,
      examples: _examples,
      source: _source,
      ...rest
    } = schema as Record<string, unknown>
    if (typeof $ref === 'string') return { $ref: define($ref, base) }
    const result: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(rest)) {
      if (keyword === '$defs' || keyword === 'pattern' || keyword === 'minItems' || keyword === 'maxItems') continue
      if (keyword === 'properties')
        result.properties = Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, convert(item, base)]))
      else if (keyword === 'allOf') {
        const plain = (value as Schema[]).filter(item => typeof item === 'object' && !('if' in item))
        if (plain.length > 0) result.allOf = convert(plain, base)
      } else result[keyword] = keyword === 'enum' || keyword === 'const' || keyword === 'default' ? value : convert(value, base)
    }
    if (union !== undefined) result.anyOf = unionBranches(union as Union, base, convert)
    return result
  }
  const define = (reference: string, base: string): string => {
    const url = new URL(reference, base)
    const file = `${url.origin}${url.pathname}`
    const name = `${file.slice(schemaId('', '').length - 1)}_${url.hash.split('/').at(-1) ?? ''}`
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .replace(/_$/, '')
    if (!(name in definitions)) {
      definitions[name] = {}
      const target = resolveReference(set, reference, base)
      if (target) definitions[name] = { ...(convert(target.schema, target.base) as object), title: typeName(name, '').replace(/_$/, '') }
    }
    return `#/$defs/${name}`
  }
  return { ...(convert(set.get(id), id) as object), title }
}

function unionBranches(union: Union, base: string, convert: (schema: unknown, base: string) => unknown): unknown[] {
  const branches = Object.entries(union.of).map(([name, item]) => ({
    allOf: [
      convert(item, base),
      { type: 'object', properties: { [union.by]: { const: name } }, ...(union.default !== name && { required: [union.by] }) },
    ],
  }))
  return union.other === 'open' ? [...branches, { type: 'object', properties: { [union.by]: { type: 'string' } } }] : branches
}
