// If an API is lenient, every spelling of a request becomes the same request for every provider: null for an absent member,
// one item instead of a list, numbers as text, words in any case and as numbers, names in snake_case, base64 in either
// alphabet.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { resolveReference, type Schema, type Subschema } from '../../codegen/read/schemas.js'
import type { Body, Context, Mapping } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { CONTEXT, holds, plan, project, runs, same, schemaOf, TIMEOUT } from './plan.js'

const tame = arbitraries(project.schemas, { strange: false })

type Applied = Subschema<Exclude<Schema, boolean>>

/** A schema and what it refers to. */
function subschemasOf(schema: Schema | undefined, base: string): Applied[] {
  if (typeof schema !== 'object') return []
  const target = typeof schema.$ref === 'string' ? resolveReference(project.schemas, schema.$ref, base) : undefined
  return [{ schema, base }, ...(target ? subschemasOf(target.schema, target.base) : [])]
}

const snakeOf = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)

/** The same value in another spelling; `chance` says whether one more thing is spelled otherwise. */
function respelled(value: unknown, subschemas: readonly Applied[], chance: () => boolean): unknown {
  const said = <Found>(keyword: string): Found | undefined =>
    subschemas.map(({ schema }) => schema[keyword]).find(Boolean) as Found | undefined
  const types = [said<string | string[]>('type') ?? []].flat()
  if (typeof value === 'number') return types.length === 1 && /number|integer/.test(types[0] as string) && chance() ? String(value) : value
  if (typeof value === 'string') {
    const numbers = said<Record<string, number>>('enum_numbers') ?? {}
    const number = Object.hasOwn(numbers, value) ? numbers[value] : undefined
    if (number !== undefined && chance()) return number
    if ((said('enum') !== undefined || number !== undefined) && chance()) return chance() ? value.toLowerCase() : value.toUpperCase()
    if (said('contentEncoding') && isBase64(value) && chance())
      return value
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replace(chance() ? /=+$/ : /$^/, '')
    return value
  }
  if (Array.isArray(value)) {
    const items = subschemas.flatMap(({ schema, base }) => subschemasOf(schema.items as Schema | undefined, base))
    const list = value.map(item => respelled(item, items, chance))
    return list.length === 1 && types.length === 1 && !Array.isArray(list[0]) && list[0] !== null && chance() ? list[0] : list
  }
  if (typeof value !== 'object' || value === null) return value
  const members = new Map(
    subschemas.flatMap(({ schema, base }) =>
      Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}).map(([name, item]): [string, Applied[]] => [
        name,
        subschemasOf(item, base),
      ]),
    ),
  )
  const rest = subschemas.flatMap(({ schema, base }) => subschemasOf(schema.additionalProperties as Schema | undefined, base))
  const result: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const snake = snakeOf(name)
    const isOther = members.has(name) && snake !== name && !Object.hasOwn(value, snake) && chance()
    result[isOther ? snake : name] = respelled(item, members.get(name) ?? rest, chance)
  }
  for (const [name, found] of members) {
    const isFree = found.some(({ schema }) => [schema.type ?? []].flat().length > 0 || schema.enum !== undefined)
    const mayBeNull = found.some(({ schema }) => [schema.type ?? []].flat().includes('null'))
    if (isFree && !mayBeNull && !Object.hasOwn(result, name) && chance()) result[name] = null
  }
  return result
}

/** What becomes of a request that a client has sent. */
function mapped(mapping: Mapping, sent: unknown, given: Context): unknown {
  const dialect = plan.dialects[mapping.from]
  const body = dialect?.normaliseRequest?.(structuredClone(sent) as Body) as Body
  expect(dialect?.validateRequest?.(body), JSON.stringify([body, dialect?.validateRequest?.errors])).toBe(true)
  frozen(body)
  const refused = mapping.refused?.(body, given)
  if (refused) return { refused }
  const asked = [mapping.fetch?.(body, given) ?? []].flat(3) as string[]
  const ctx = { ...given, fetched: Object.fromEntries(asked.map(address => [address, { media_type: 'image/png', data: 'iVBORw0KGgo=' }])) }
  return wire({ made: mapping.request?.(body, ctx, mapping.carry?.(body, ctx)), dropped: mapping.dropped?.(body, ctx) })
}

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  // Of a dialect that is lenient in one way alone, the others say nothing.
  if (!project.formats.get(mapping.from)?.data.normalise?.includes('one_is_a_list')) continue
  const { schema, base } = schemaOf(mapping.from, 'request')
  describe(pair, () => {
    test('every spelling of a request becomes the same request', { timeout: TIMEOUT }, async () => {
      let others = 0
      await holds(
        fc.property(tame.of({ schema, base }), fc.array(fc.nat(9), { minLength: 30, maxLength: 30 }), (value, lots) => {
          let turn = 0
          const spelled = respelled(value, subschemasOf(schema, base), () => (lots[turn++ % lots.length] as number) < 4)
          if (JSON.stringify(spelled) !== JSON.stringify(value)) others++
          same(mapped(mapping, spelled, CONTEXT), mapped(mapping, value, CONTEXT), `as ${JSON.stringify(spelled)}`)
        }),
        runs(180),
      )
      expect(others).toBeGreaterThan(100)
    })
  })
}

test("the application's own JSON is unchanged", () => {
  const own = { snake_case: null, one: { parts: {} }, type: 'string', number: '5', enum: 2, thought_signature: 'a-b_' }
  const request = {
    contents: [
      { parts: [{ functionCall: { name: 'f', args: structuredClone(own) } }] },
      { parts: [{ functionResponse: { name: 'f', response: structuredClone(own) } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: structuredClone(own) }] }],
    generationConfig: { responseJsonSchema: structuredClone(own) },
    labels: { snake_case: 'a' },
  }
  expect(plan.dialects.generate?.normaliseRequest?.(structuredClone(request))).toEqual(request)
})
