// The examples of docs/jsonata.md have the results that the page shows.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import jsonata from 'jsonata'
import { expect, test } from 'vitest'
import { both, CONTEXT } from '../codegen/compiled.js'
import { wire } from '../fixtures.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/jsonata.md'), 'utf8')
const examples = [...page.matchAll(/```jsonata\n([\s\S]*?)\n```/g)].map(([, text]) => (text as string).split('\n---\n'))

test('the page has examples', () => expect(examples.length).toBeGreaterThan(5))

for (const [input, expression, output] of examples)
  test(`${expression}`, async () => {
    const [body, expected] = [input, output].map(text => JSON.parse(text as string) as Record<string, unknown>)
    expect(wire(await jsonata(expression as string).evaluate(body)), 'by the interpreter').toEqual(expected)
    const { compiled } = await both({ request: expression as string })
    expect(wire(compiled.request?.(body as Record<string, unknown>, CONTEXT, undefined)), 'by the compiler').toEqual(expected)
  })
