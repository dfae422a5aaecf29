// A client's half reads any request into the terms of schemas/conversation.yaml.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { interpret } from '../../cli/cases/interpreter.js'
import { libraryOf } from '../../codegen/read/functions.js'
import { wire } from '../fixtures.js'
import { CONTEXT, holds, plan, project, runs, schemaOf, seen, TIMEOUT } from './plan.js'

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(load(readFileSync(join(import.meta.dirname, '../../schemas/conversation.yaml'), 'utf8')) as object, 'conversation')
const isAsk = ajv.getSchema('conversation#/$defs/ask')
const requests = arbitraries(project.schemas, { strange: false })

/** A mapping of each client's half. */
const halves = new Map(
  [...project.mappings].flatMap(([pair, mapping]) =>
    (mapping.data.uses ?? []).flatMap((name): [string, [string, typeof mapping]][] =>
      project.parts.get(name)?.data.functions.read_ask === undefined ? [] : [[name, [pair, mapping]]],
    ),
  ),
)

test('some parts of the library read requests of clients', () => expect(halves.size).toBeGreaterThan(0))

for (const [name, [pair, { data, document }]] of halves) {
  test(`${name} reads every valid request into the terms of a conversation`, { timeout: TIMEOUT }, async () => {
    const from = pair.split('-to-')[0] as string
    const library = new Map([...libraryOf({ data, document }, project)].map(([key, { text }]) => [key, text]))
    const { request } = interpret({ ...data, request: '$read_ask($, $ctx)' }, library, undefined, () => {})
    const mapping = plan.mappings[pair]
    await holds(
      fc.asyncProperty(requests.of(schemaOf(from, 'request')), async whole => {
        const body = seen(from, whole)
        // What is refused is not read.
        if (mapping?.refused?.(body, CONTEXT) !== undefined) return
        const ask = wire(request(body, CONTEXT, mapping?.carry?.(body, CONTEXT)))
        if (isAsk?.(ask) !== true) expect.fail(`${ajv.errorsText(isAsk?.errors, { separator: '\n' })}\nin ${JSON.stringify(ask)}`)
      }),
      runs(100),
    )
  })
}
