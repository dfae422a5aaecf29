// A member that no schema names is reported or refused if a request is translated; nothing is lost silently. A member is added
// to one object of a request after another, and kinds of items are renamed; what is neither reported nor refused must reach
// the provider, or come back with its answer.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { fieldsOf } from '../../codegen/check/ledger.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context, Dialect, Mapping } from '../../engine/plan.js'
import { Unnamed } from '../../engine/wire/json/unnamed.js'
import { frozen } from '../fixtures.js'
import { providerOf } from './dialects/table.js'
import { CONTEXT, hasSchema, holds, plan, project, runs, schemaOf, seen, TIMEOUT } from './plan.js'

const strange = arbitraries(project.schemas)
const tame = arbitraries(project.schemas, { strange: false })
const PLANTED = 'planted_member'
const TOMORROW = 'of_tomorrow'

/** The same value with one of its objects changed, one after another; with the path to each: `messages[].content[]`. */
function* changed(
  value: unknown,
  change: (holder: Record<string, unknown>, path: string) => Iterable<[holder: Record<string, unknown>, path: string]>,
  path = '',
): Generator<[value: unknown, path: string]> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const [other, at] of changed(item, change, `${path}[]`)) yield [value.with(index, other), at]
  } else if (typeof value === 'object' && value !== null) {
    yield* change(value as Record<string, unknown>, path)
    for (const [name, item] of Object.entries(value))
      for (const [other, at] of changed(item, change, joined(path, name))) yield [{ ...value, [name]: other }, at]
  }
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** The application's own JSON of which some members are named: a mapping may rewrite it. */
const OWN = /(^|\.)(input_schema|documents\[\])$/

/** Paths of objects whose members the schema names. */
function namedObjects(dialect: string): ReadonlySet<string> {
  const found = new Set([''])
  const visit = (nodes: ReturnType<typeof fieldsOf>): void => {
    for (const { path, members } of nodes) {
      if (members.length > 0 && !OWN.test(path)) found.add(path)
      visit(members)
    }
  }
  visit(fieldsOf(project.schemas, schemaId(dialect, 'request')))
  return found
}

/** The same for each mapping of a dialect. */
const open = new Map<string, ReadonlySet<string>>()

/** Paths of the members that name the kind of an object, as far as there may be kinds that the schema does not know. */
function openKinds(dialect: string): ReadonlySet<string> {
  const known = open.get(dialect)
  if (known !== undefined) return known
  const found = new Set<string>()
  open.set(dialect, found)
  const look = function* (holder: Record<string, unknown>, path: string): Iterable<[Record<string, unknown>, string]> {
    for (const [name, item] of Object.entries(holder)) if (item === TOMORROW) found.add(joined(path, name))
    yield* []
  }
  for (const value of fc.sample(strange.of(schemaOf(dialect, 'request')), { numRuns: 2000, seed: 1 }))
    for (const _ of changed(value, look));
  return found
}

/** The kinds that the unions of a dialect know, all together. */
function knownKinds(schema: unknown, found = new Set<unknown>()): ReadonlySet<unknown> {
  if (typeof schema !== 'object' || schema === null) return found
  const { union } = schema as { union?: { of: Record<string, unknown> } }
  for (const name of Object.keys(union?.of ?? {})) found.add(name)
  for (const item of Object.values(schema)) knownKinds(item, found)
  return found
}

/** Whether a path is that of an object, or of something around it. */
function within(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`) || path.startsWith(`${other}[`)
}

interface Outcome {
  told: readonly string[]
  refused: readonly string[]
  sent: string
}

function outcomeOf(mapping: Mapping, value: unknown, ctx: Context): Outcome {
  const body = frozen(value) as Body
  const found = new Unnamed()
  plan.dialects[mapping.from]?.unnamed?.(body, found)
  const told = [...(mapping.dropped?.(body, ctx) ?? []), ...found.members]
  const refused = found.kinds.map(({ path }) => path).filter(path => !mapping.judges.includes(path))
  const first = mapping.refused?.(body, ctx)
  if (first) return { told, refused: [first.param, ...refused], sent: '' }
  const carry = mapping.carry?.(body, ctx)
  return { told, refused, sent: JSON.stringify([mapping.request?.(body, ctx, carry), carry, mapping.split?.(body, ctx)]) }
}

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to } = mapping
  if (mapping.request === undefined || !hasSchema(from, 'request')) continue
  const context = (providerOf(to)?.traits ?? fc.constant({})).map((traits): Context => ({ ...CONTEXT, traits }))

  describe(pair, () => {
    test('a member that no schema names is reported, refused, or passed on', { timeout: TIMEOUT }, async () => {
      const named = namedObjects(from)
      let tried = 0
      await holds(
        fc.property(tame.of(schemaOf(from, 'request')), context, (value, ctx) => {
          const asked = seen(from, value)
          if (mapping.refused?.(asked, ctx)) return
          for (const [body, at] of changed(asked, function* (holder, path) {
            if (named.has(path)) yield [{ ...holder, [PLANTED]: 'x' }, path]
          })) {
            tried++
            const { told, refused, sent } = outcomeOf(mapping, body, ctx)
            const path = joined(at, PLANTED)
            // Where an object goes over as a whole, its member does.
            const isKnown = told.some(other => within(path, other) || other === `${at}.type` || other === '...') || refused.length > 0
            expect(isKnown || sent.includes(PLANTED), `${path} is told, refused, or sent`).toBe(true)
          }
        }),
        // Of some dialects most requests are refused.
        runs(200),
      )
      expect(tried).toBeGreaterThan(0)
    })

    const kinds = openKinds(from)
    if (kinds.size === 0) return
    const known = knownKinds(project.schemas.get(schemaId(from, 'request')))
    test('an item of a kind that no schema knows is reported, refused, or passed on', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(tame.of(schemaOf(from, 'request')), context, (value, ctx) => {
          const asked = seen(from, value)
          if (mapping.refused?.(asked, ctx)) return
          for (const [body, at] of changed(asked, function* (holder, path) {
            for (const name of Object.keys(holder))
              if (kinds.has(joined(path, name)) && known.has(holder[name])) yield [{ ...holder, [name]: TOMORROW }, joined(path, name)]
          })) {
            if ((plan.dialects[from] as Dialect).validateRequest?.(body) === false) continue
            const { told, refused, sent } = outcomeOf(mapping, body, ctx)
            const isKnown = told.some(other => within(at, other)) || refused.length > 0
            expect(isKnown || sent.includes(TOMORROW), `the kind at ${at} is told, refused, or sent`).toBe(true)
          }
        }),
        runs(60),
      )
    })
  })
}
