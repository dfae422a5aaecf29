// Checks `texts` of a format: each path must lead to a text in the dialect's schema.

import type { Finding } from '../read/findings.js'
import type { Entry, FormatData } from '../read/project.js'
import { resolveReference, type Schema, type SchemaSet, type Subschema, schemaId, type Union } from '../read/schemas.js'

/** The schema that the paths of each list refer to. */
const PART_OF = { request: 'request', response: 'response', event: 'event', pieces: 'event' } as const

export function checkTexts({ name, data, document }: Entry<FormatData>, schemas: SchemaSet, findings: Finding[]): void {
  for (const [list, part] of Object.entries(PART_OF)) {
    const id = schemaId(name, part)
    const paths = data.texts?.[list as keyof typeof PART_OF]
    // A dialect without a schema may name any texts.
    if (paths === undefined || !schemas.has(id)) continue
    paths.forEach((path, index) => {
      // Asked first: a built-in file is read only for its positions.
      if (leadsToText(path, id, schemas)) return
      const position = document.at(['texts', list, index])
      // A path inherited from another dialect need not exist in a schema of this one.
      if (position.file !== document.at([]).file) return
      findings.push({
        ...position,
        rule: 'format/text',
        detail: `no ${part} of schemas/${name} has a text at ${path}`,
        remedy: 'name the path of a text, or remove it',
      })
    })
  }
}

type Members = Record<string, Schema>

function leadsToText(path: string, id: string, schemas: SchemaSet): boolean {
  const found = endsOf(path, id, schemas)
  return found === 'open' || found.some(({ schema }) => [(schema as { type?: string | string[] }).type].flat().includes('string'))
}

/** The schemas at the end of a path; `open` if the path leads through an object that may have any member. */
export function endsOf(path: string, id: string, schemas: SchemaSet): readonly Subschema[] | 'open' {
  let subschemas = alternatives([{ schema: schemas.get(id) as Schema, base: id }], schemas)
  for (const name of path.split('.').flatMap(part => (part.endsWith('[]') ? [part.slice(0, -2), '[]'] : [part]))) {
    if (name === '**' || subschemas.some(isOpen)) return subschemas.length > 0 ? 'open' : []
    const next = subschemas.flatMap(({ schema, base }): Subschema[] => {
      const { properties, additionalProperties, items } = schema as { properties?: Members; additionalProperties?: Schema; items?: Schema }
      if (name === '[]') return items === undefined ? [] : [{ schema: items, base }]
      const member = properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
      return member === undefined ? [] : [{ schema: member, base }]
    })
    subschemas = alternatives(next, schemas)
  }
  return subschemas
}

/** An object without declared members may hold texts anywhere, and so may one that has other members, or is of another kind. */
function isOpen({ schema }: Subschema): boolean {
  const { type, properties, additionalProperties, union } = schema as { union?: Union } & Record<string, unknown>
  if (additionalProperties === true || union?.other === 'open') return true
  return [type].flat().includes('object') && [properties, additionalProperties, union].every(one => one === undefined || one === true)
}

/** All alternatives of a value. */
function alternatives(subschemas: readonly Subschema[], schemas: SchemaSet): Subschema[] {
  const found = new Map<Schema, Subschema>()
  const visit = (subschema: Subschema): void => {
    const { schema, base } = subschema
    if (typeof schema !== 'object' || schema === null || found.has(schema)) return
    found.set(schema, subschema)
    const { $ref: reference, union } = schema as { $ref?: string; union?: Union }
    const target = reference === undefined ? undefined : resolveReference(schemas, reference, base)
    if (target) visit(target)
    for (const keyword of ['allOf', 'anyOf', 'oneOf'])
      for (const item of (schema[keyword] as Schema[] | undefined) ?? []) visit({ schema: item, base })
    for (const item of Object.values(union?.of ?? {})) visit({ schema: item, base })
  }
  for (const subschema of subschemas) visit(subschema)
  return [...found.values()]
}
