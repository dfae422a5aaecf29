// A provider of the same dialect needs only the shape of a request: every valid request has it, and still has it with other
// words and numbers, and with null for optional members.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import type { Body } from '../../engine/plan.js'
import { CONTEXT, hasSchema, holds, plan, project, runs, schemaOf, TIMEOUT } from './plan.js'

const wild = arbitraries(project.schemas)

/** Every text and number another one. */
function ofTomorrow(value: unknown): unknown {
  if (typeof value === 'string') return 'of_tomorrow'
  if (typeof value === 'number') return -1
  if (Array.isArray(value)) return value.map(ofTomorrow)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, ofTomorrow(item)]))
}

/** The value with one of its members, however deep, null or of tomorrow. */
function changed(value: unknown, at: number, isNull: boolean): unknown {
  const copy = structuredClone(value)
  const members: { holder: Record<string, unknown>; name: string }[] = []
  const visit = (item: unknown): void => {
    if (typeof item !== 'object' || item === null) return
    const holder = item as Record<string, unknown>
    for (const name of Object.keys(holder)) {
      members.push({ holder, name })
      visit(holder[name])
    }
  }
  visit(copy)
  const member = members[at % Math.max(1, members.length)]
  if (member) member.holder[member.name] = isNull ? null : ofTomorrow(member.holder[member.name])
  return copy
}

for (const [name, { shape, clean, normaliseRequest }] of Object.entries(plan.dialects)) {
  if (!hasSchema(name, 'request') || shape === undefined) continue
  const validateShape = await shape()
  describe(name, () => {
    test('every valid request has the shape, also with other words and numbers', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(wild.of(schemaOf(name, 'request')), value => {
          expect(validateShape(value), JSON.stringify(validateShape.errors)).toBe(true)
          expect(validateShape(ofTomorrow(value)), JSON.stringify(validateShape.errors)).toBe(true)
        }),
        runs(100),
      )
    })

    if (clean !== undefined)
      test('a request that has the shape can be cleaned', { timeout: TIMEOUT }, async () => {
        await holds(
          fc.property(wild.of(schemaOf(name, 'request')), fc.nat(), fc.boolean(), (value, at, isNull) => {
            const body = changed(value, at, isNull) as Body
            if (!validateShape(body)) return
            const normal = normaliseRequest ? normaliseRequest(body) : body
            expect(() => clean.request(normal, CONTEXT), JSON.stringify(normal)).not.toThrow()
          }),
          runs(120),
        )
      })

    test('an optional member may be null', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(wild.of(schemaOf(name, 'request')), fc.nat(), (value, at) => {
          const body = structuredClone(value) as Record<string, unknown>
          const keys = Object.keys(body)
          const key = keys[at % Math.max(1, keys.length)] ?? ''
          const without = { ...body }
          delete without[key]
          if (!validateShape(without)) return
          expect(validateShape({ ...body, [key]: null }), `${key}: ${JSON.stringify(validateShape.errors)}`).toBe(true)
        }),
        runs(100),
      )
    })
  })
}
