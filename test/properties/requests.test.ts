// Every request that the client's dialect allows becomes one that the provider's dialect allows, or is refused by name.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import type { Body, Context, Mapping } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { conversation, repeats, travels } from './conversations.js'
import { clientOf, providerOf } from './dialects/table.js'
import { CONTEXT, hasSchema, holds, plan, project, runs, schemaOf, seen, TIMEOUT, wrong } from './plan.js'

const wild = arbitraries(project.schemas)
const tame = arbitraries(project.schemas, { strange: false })

/** What the engine would have fetched for a mapping: a page for every address. */
function fetchedFor(mapping: Mapping, body: Body, ctx: Context): Context {
  const asked = [mapping.fetch?.(body, ctx) ?? []].flat(3)
  for (const address of asked) expect(typeof address, 'what is fetched is an address').toBe('string')
  if (asked.length === 0) return ctx
  const page = { media_type: 'image/png', data: 'iVBORw0KGgo=' }
  return { ...ctx, fetched: Object.fromEntries(asked.map(address => [address as string, page])) }
}

/** The members of a value at a path of the ledger, such as `messages[].content[].type`. */
function membersAt(
  value: unknown,
  path: readonly string[],
): { holder: Record<string, unknown>; name: string; lists: { list: unknown[]; item: unknown }[] }[] {
  const [part, ...rest] = path
  if (part === undefined || typeof value !== 'object' || value === null) return []
  const name = part.replaceAll('[]', '')
  const holder = value as Record<string, unknown>
  if (!Object.hasOwn(holder, name)) return []
  if (rest.length === 0) return [{ holder, name, lists: [] }]
  if (!part.endsWith('[]')) return membersAt(holder[name], rest)
  const list = holder[name]
  return Array.isArray(list)
    ? list.flatMap(item => membersAt(item, rest).map(member => ({ ...member, lists: [...member.lists, { list, item }] })))
    : []
}

/** The same request without what is refused in it, so that refusals do not hide the rest; nothing where that cannot be. */
function served(mapping: Mapping, dialect: string, body: Body, ctx: Context): Body | undefined {
  const mine = structuredClone(body)
  for (let left = 40; left > 0; left--) {
    const refused = mapping.refused?.(mine, ctx)
    if (refused === undefined) return wrong(dialect, 'request', mine) === undefined ? mine : undefined
    const [member] = membersAt(mine, refused.param.split('.')).reverse()
    if (member === undefined) return undefined
    const innermost = member.lists.at(-1)
    if (innermost !== undefined) innermost.list.splice(innermost.list.indexOf(innermost.item), 1)
    else delete member.holder[member.name]
  }
  return undefined
}

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to, request: map } = mapping
  // A question without a body is asked by its address.
  if (map === undefined || !hasSchema(from, 'request')) continue
  const [client, provider] = [clientOf(from), providerOf(to)]
  const context = fc.record({ traits: provider?.traits ?? fc.constant({}), stream: fc.boolean() }).map(given => ({ ...CONTEXT, ...given }))
  let asked = 0
  let answered = 0

  /** Throws where the mapping does, and where what it makes is not valid. */
  const check = (whole: Body, given: Context): void => {
    const parts = mapping.split?.(whole, given)
    // Nothing is left to send: the answer is made here.
    if (Array.isArray(parts) && parts.length === 0) {
      const fault = wrong(from, 'response', wire(mapping.join?.([], given, mapping.carry?.(whole, given))))
      if (fault !== undefined) expect.fail(fault)
      answered++
      return
    }
    for (const body of Array.isArray(parts) && parts.length > 1 ? (parts as Body[]) : [whole]) checkOne(body, given)
  }
  const checkOne = (body: Body, given: Context): void => {
    const ctx = frozen(fetchedFor(mapping, body, given))
    const carry = frozen(mapping.carry?.(body, ctx))
    const made = wire(map(body, ctx, carry))
    const fault = wrong(to, 'request', made)
    if (fault !== undefined) expect.fail(`${fault}\nin ${JSON.stringify(made)}`)
    mapping.dropped?.(body, ctx, made as Body)
    expect(wire(map(body, ctx, mapping.carry?.(body, ctx))), 'the same request once more').toEqual(made)
    answered++
  }

  describe(pair, () => {
    test('every valid request becomes a valid request or is refused', { timeout: TIMEOUT }, async () => {
      const any = fc.oneof(
        { arbitrary: wild.of(schemaOf(from, 'request')), weight: 1 },
        { arbitrary: tame.of(schemaOf(from, 'request')), weight: 2 },
      )
      await holds(
        fc.property(any, context, (value, ctx) => {
          asked++
          const body = frozen(seen(from, value))
          const refused = mapping.refused?.(body, ctx)
          expect(mapping.refused?.(body, ctx), 'the same refusal once more').toEqual(refused)
          if (refused === undefined) check(body, ctx)
          else {
            expect(refused.param).not.toBe('')
            const rest = served(mapping, from, body, ctx)
            if (rest !== undefined) check(frozen(rest), ctx)
          }
        }),
        runs(120),
      )
      // A property that holds because everything is refused says nothing.
      expect(answered / asked).toBeGreaterThan(0.25)
    })

    if (client === undefined || provider === undefined) return
    const back = plan.mappings[`${to}-to-${from}`]
    test(`the provider gets the whole conversation${back === undefined ? '' : ', and the mapping back restores it'}`, {
      timeout: TIMEOUT,
    }, async () => {
      await holds(
        fc.property(conversation, given => travels(given, mapping, back)),
        runs(120),
      )
    })
    // Some providers give all calls of a turn one id, or an empty one, and clients send it back.
    test.each(['', 'call_0'])('calls with the id "%s" keep their own results', { timeout: TIMEOUT }, async id => {
      await holds(
        fc.property(conversation, given => repeats(given, id, mapping)),
        runs(40),
      )
    })
  })
}
