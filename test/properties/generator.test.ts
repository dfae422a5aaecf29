// The generator of the properties makes what the schemas mean: every value is valid by the compiled validators, if there are
// some, and by ajv.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { wire } from '../fixtures.js'
import { hasSchema, holds, type Part, plan, project, runs, schemaOf, TIMEOUT, wrong } from './plan.js'

const made = arbitraries(project.schemas)
const PARTS: readonly Part[] = ['request', 'response', 'event']

for (const [name, dialect] of Object.entries(plan.dialects)) {
  for (const part of PARTS.filter(part => hasSchema(name, part))) {
    test(`values of schemas/${name}/${part}.yaml are valid`, { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(made.of(schemaOf(name, part)), value => {
          // Whoever asks `expect` each time takes longer for that than for what is asked.
          const fault = wrong(name, part, value)
          if (fault !== undefined) expect.fail(fault)
          const sent = wire(value)
          if (!isDeepStrictEqual(sent, value)) expect(sent).toEqual(value)
          if (part === 'request' && dialect.validateRequest && dialect.validateRequest(value) !== true)
            expect.fail('not by the compiled validator')
        }),
        runs(250),
      )
    })
  }
}

describe('the generator', () => {
  const of = (schema: Record<string, unknown>): unknown[] => {
    const base = schemaId('own', 'request')
    const arbitrary = arbitraries(new Map([[base, schema]])).of({ schema, base })
    return fc.sample(arbitrary, { numRuns: 300, seed: 1 })
  }

  test('makes only the branch of a union that fits the keywords beside it', () => {
    const values = of({
      allOf: [{ properties: { by: { const: 'b' } } }],
      union: {
        by: 'by',
        of: {
          a: { type: 'object' },
          b: { type: 'object', required: ['x'], properties: { x: { type: 'integer', minimum: 3, maximum: 4 } } },
        },
      },
    }) as { by: string; x: number }[]
    expect(new Set(values.map(({ by }) => by))).toEqual(new Set(['b']))
    expect(new Set(values.map(({ x }) => x))).toEqual(new Set([3, 4]))
  })

  test('makes values of every branch, enumeration and type', () => {
    const values = of({
      anyOf: [
        { enum: ['a', null] },
        { type: ['boolean', 'integer'], minimum: 7, maximum: 7 },
        { type: 'array', items: { const: 1 }, maxItems: 1 },
      ],
    })
    expect(new Set(values.map(value => JSON.stringify(value)))).toEqual(new Set(['"a"', 'null', 'true', 'false', '7', '[]', '[1]']))
  })

  test('makes finite values of a recursive schema', () => {
    const values = of({
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' }, more: { type: 'array', items: { $ref: '#' } } },
    })
    expect(values.some(value => JSON.stringify(value).includes('"more":[{"a"'))).toBe(true)
  })

  test('refuses a keyword that it does not know', () => {
    expect(() => of({ type: 'string', not: { const: 'a' } })).toThrow('does not know the keyword not')
  })
})
