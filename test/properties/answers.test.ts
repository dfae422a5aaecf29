// A provider's answer in which one value has a wrong type is a valid answer of the client's dialect, or a failure, and the
// next target is tried. It is never passed on in a form that the client's dialect does not have.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { frozen, wire } from '../fixtures.js'
import { CONTEXT, holds, plan, project, runs, schemaOf, TIMEOUT, wrong } from './plan.js'

const tame = arbitraries(project.schemas, { strange: false })
const ctx = frozen(CONTEXT)

const OTHERS: readonly unknown[] = [null, true, 5, '12', 'x', [], {}, [{}], { a: 1 }]
const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** The members of a value at any depth, each with the object or list that holds it. */
function membersIn(value: unknown): { holder: Record<string, unknown>; name: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap(name => [{ holder, name }, ...membersIn(holder[name])])
}

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to, response: map } = mapping
  const { normaliseResponse } = plan.dialects[to] as (typeof plan.dialects)[string]
  if (map === undefined || normaliseResponse === undefined) continue
  const carry = mapping.carry?.({}, ctx)

  /** What the client gets; nothing where the next target is asked. */
  const madeOf = (answer: unknown): unknown => {
    try {
      return mapping.failure?.(answer, ctx, carry) === undefined ? wire(map(normaliseResponse(answer), ctx, carry)) : undefined
    } catch {
      return undefined
    }
  }

  describe(pair, () => {
    test('an answer with a value of a wrong type becomes a valid answer or a failure', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(tame.of(schemaOf(to, 'response')), fc.nat(), fc.constantFrom(...OTHERS), (given, at, other) => {
          const answer = structuredClone(given)
          const members = membersIn(answer)
          const member = members[at % Math.max(1, members.length)]
          if (member === undefined || typeOf(member.holder[member.name]) === typeOf(other)) return
          member.holder[member.name] = structuredClone(other)
          const shown = JSON.stringify(answer)
          const made = madeOf(answer)
          const fault = made === undefined ? undefined : wrong(from, 'response', made)
          if (fault === undefined) return
          // A null value is absent; a member that the answer lacks may be absent in the result.
          if (other === null) {
            delete member.holder[member.name]
            if (wrong(from, 'response', madeOf(answer)) === fault) return
          }
          expect.fail(`${fault}\nin ${JSON.stringify(made)}\nof ${shown}`)
        }),
        runs(180),
      )
    })

    test('a valid answer is not changed by normalisation', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(tame.of(schemaOf(to, 'response')), given => {
          expect(normaliseResponse(structuredClone(given))).toEqual(given)
        }),
        runs(120),
      )
    })
  })
}
