// A function that is called with the object that another one makes.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { both, CONTEXT } from './compiled.js'

const define = {
  read_ask: `function($asked, $tag) {(
    $all := $map($asked.list, function($one) { $one & $tag });
    $unused := $count($all);
    {
      "list": $all,
      "first": $all[0],
      "name": $asked.name,
      "both": [$asked.name, $asked.list],
      "number": $unused,
      "words": $join($all)
    }
  )}`,
  write_ask: `function($ask, $model) {(
    $named := $named($ask, $model);
    {
      "list": $ask.list,
      "one": $ask.first,
      "both": $ask.both[$ != "x"],
      "sizes": $ask.list.$length($),
      "none": $ask.nothing,
      "named": $named,
      "model": $model
    }
  )}`,
  named: 'function($ask, $model) { $exists($ask.name) ? $ask.name & $model }',
}

test("a fused call gives the interpreter's result for any input", async () => {
  const { compiled, interpreted } = await both({ define, request: '$write_ask($read_ask($, $ctx.tag), $ctx.model)' })
  const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
  const text = fc.constantFrom('', 'x', 'yes', 'é')
  const asked = fc.record({ list: fc.oneof(fc.array(text, { maxLength: 3 }), text), name: text }, { requiredKeys: [] })
  await fc.assert(
    fc.asyncProperty(asked, async body => {
      expect(wire(compiled.request?.(body, CONTEXT, undefined))).toEqual(wire(interpreted.request(body, CONTEXT, undefined)))
    }),
  )
})

test('a fused call computes only what the outer function reads, and makes no object', async () => {
  const { text } = await both({ define, request: '$write_ask($read_ask($, $ctx.tag), $ctx.model)' })
  const request = text.slice(text.indexOf('export function request'))
  expect(request).not.toContain('words')
  expect(request).not.toContain('unused')
  // A function that takes the object is given the members that it reads.
  expect(request).toMatch(/named\(\{ name: \w+ \}, /)
})

test('a call is not fused if the outer function uses the whole object', async () => {
  const { compiled, interpreted } = await both({
    define: { ...define, write_ask: 'function($ask) { $merge([$ask, { "more": true }]) }' },
    request: '$write_ask($read_ask($, $ctx.tag))',
  })
  const body = { list: ['a'], name: 'b' }
  expect(compiled.request?.(body, CONTEXT, undefined)).toEqual(interpreted.request(body, CONTEXT, undefined))
})
