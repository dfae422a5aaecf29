// If a schema accepts the outline of a long body, it accepts the whole.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
// The module that the compiled validators use: only it knows the mark that replaces a text.
import type * as OutlineModule from '../../engine/wire/json/outline.js'
import { hasSchema, holds, plan, project, runs, schemaOf, TIMEOUT } from './plan.js'

const { outlineOf } = (await import(
  pathToFileURL(join(import.meta.dirname, '../../dist/engine/wire/json/outline.js')).href
)) as typeof OutlineModule
const wild = arbitraries(project.schemas)

/** A value with some of its texts made long: by themselves over and over, by something else, or to what looks like data. */
function stretched(value: unknown, choices: Iterator<number>): unknown {
  if (typeof value === 'string') {
    const choice = choices.next().value as number
    const times = Math.ceil(400 / Math.max(1, value.length))
    if (choice % 4 === 1) return value.repeat(times)
    if (choice % 4 === 2) return `${value} and then some, "more" \\ é`.repeat(20)
    if (choice % 4 === 3) return `iVBORw0KGgo${'A'.repeat(400 + (choice % 7))}`
    return value
  }
  if (Array.isArray(value)) return value.map(item => stretched(item, choices))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, stretched(item, choices)]))
}

function* forever(choices: readonly number[]): Generator<number> {
  for (let index = 0; ; index++) yield choices[index % choices.length] ?? 0
}

describe.concurrent('a request is accepted if its outline is', () => {
  for (const [name, dialect] of Object.entries(plan.dialects)) {
    const { validateRequest } = dialect
    if (validateRequest === undefined || !hasSchema(name, 'request')) continue
    test(
      name,
      async () => {
        let accepted = 0
        const hasShape = await dialect.shape?.()
        await holds(
          fc.property(wild.of(schemaOf(name, 'request')), fc.array(fc.nat(), { minLength: 1, maxLength: 20 }), (value, choices) => {
            const long = stretched(value, forever(choices))
            const outline = outlineOf(Buffer.from(JSON.stringify(long)))
            // Whoever asks `expect` each time takes longer for that than for what is asked.
            if (outline === undefined) expect.fail('there is no outline')
            if (hasShape?.(outline.body) && !hasShape(long)) expect.fail('the shape without its texts')
            if (!validateRequest(outline.body)) return
            accepted++
            if (!validateRequest(long)) expect.fail(`accepted without its texts: ${JSON.stringify(long)}`)
          }),
          runs(180),
        )
        expect(accepted).toBeGreaterThan(0)
      },
      TIMEOUT,
    )
  }
})
