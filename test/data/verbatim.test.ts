// A name under which one dialect has JSON of the application's own (a schema, arguments, a result) stands for it in each dialect:
// wherever a schema has such a name and leaves open what is in it, `verbatim` of the format names the place, so that numbers
// keep their digits; or it is listed here with the reason.

import { describe, expect, test } from 'vitest'
import { resolveReference, type Schema, schemaId, type Union } from '../../codegen/read/schemas.js'
import { plan, project } from '../properties/plan.js'

/** Places of such a name that no mapping reads. */
const LEFT: Readonly<Record<string, readonly RegExp[]>> = {
  // The grammar of a tool that takes text.
  chat: [/^tools\[\]\.custom\.format$/],
  // Instructions are text, and a provider's answer has no results of the application's tools.
  generate: [/^system_?[iI]nstruction\./, /^candidates\[\]\.content\.parts\[\]\.function_?([rR]esponse|call)\./],
  // The beginning of a stream, which has no content yet.
  messages: [/^message\.content\[\]\.input$/],
  // Items of a kind that no schema has, and what an answer repeats of its request.
  responses: [/^input\[\]\.\*$/, /^(response\.)?(tools\[\]\.parameters|text\.format\.schema)$/],
}

type Place = { schema: Exclude<Schema, boolean>; base: string }

/** A schema, what it refers to, and its alternatives. */
function together(schema: unknown, base: string): Place[] {
  if (typeof schema !== 'object' || schema === null) return schema === true ? [{ schema: {}, base }] : []
  const own = schema as Exclude<Schema, boolean>
  const target = typeof own.$ref === 'string' ? resolveReference(project.schemas, own.$ref, base) : undefined
  const others = [own.anyOf, own.oneOf, own.allOf].flatMap(list => (list as unknown[] | undefined) ?? [])
  const { union } = own as { union?: Union }
  const all = [...others, ...Object.values(union?.of ?? {})].flatMap(one => together(one, base))
  return [{ schema: own, base }, ...(target ? together(target.schema, target.base) : []), ...all]
}

const SAYS_MORE = ['$ref', 'anyOf', 'oneOf', 'allOf', 'union', 'properties', 'additionalProperties', 'items', 'enum', 'const', 'pattern']

/** Whether any object may stand there. */
const isOpen = ({ schema }: Place): boolean =>
  SAYS_MORE.every(keyword => !(keyword in schema)) && (schema.type === undefined || [schema.type].flat().includes('object'))

/** The paths of open objects. */
function openPlaces(places: readonly Place[], path: string, seen: readonly unknown[] = []): string[] {
  const fresh = places.filter(({ schema }) => !seen.includes(schema))
  const known = [...seen, ...fresh.map(({ schema }) => schema)]
  return fresh.flatMap(({ schema, base }) => [
    ...(isOpen({ schema, base }) ? [path] : []),
    ...openPlaces(together(schema.items, base), `${path}[]`, known),
    ...openPlaces(together(schema.additionalProperties, base), `${path}.*`, known),
    ...Object.entries((schema.properties as Record<string, unknown> | undefined) ?? {}).flatMap(([name, member]) =>
      openPlaces(together(member, base), path === '' ? name : `${path}.${name}`, known),
    ),
  ])
}

/** Whether a verbatim path leads to the place or to something around it; one item may stand for a list of it. */
function isWithin(place: string, verbatim: readonly string[]): boolean {
  const around = verbatim.map(name => (name === '[]' ? '[]' : `.${name}`)).join('')
  const whole = `.${place}`
  return [whole, whole.replaceAll('[]', '')].some((text, index) => {
    const start = index === 0 ? around : around.replaceAll('[]', '')
    return text === start || text.startsWith(`${start}.`) || text.startsWith(`${start}[`)
  })
}

/** The last names of all verbatim paths. */
const OWN = new Set(
  Object.values(plan.dialects).flatMap(({ verbatim }) =>
    Object.values(verbatim ?? {}).flatMap(paths => paths.map(path => path.findLast(name => name !== '[]'))),
  ),
)
const isOwn = (place: string): boolean =>
  OWN.has(
    place
      .replaceAll(/\[\]|\.\*/g, '')
      .split('.')
      .at(-1),
  )

describe.each(Object.values(plan.dialects).filter(({ verbatim }) => verbatim !== undefined))('$name', dialect => {
  test.each(['request', 'response', 'event'] as const)('%s', part => {
    const id = schemaId(dialect.name, part)
    if (!project.schemas.has(id)) return
    const paths = dialect.verbatim?.[part] ?? []
    const left = LEFT[dialect.name] ?? []
    const open = [...new Set(openPlaces(together(project.schemas.get(id), id), ''))].filter(isOwn)
    const missing = open.filter(place => !paths.some(path => isWithin(place, path)) && !left.some(pattern => pattern.test(place)))
    expect(missing).toEqual([])
  })
})
