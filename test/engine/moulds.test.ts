// Events that are cast from what others before them had in common, against JSON.parse.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventParser } from '../../engine/moulds.js'

/** What a parser makes of texts, one after the other: values, and the errors by name. */
function parsed(texts: readonly string[], parse: (text: string) => unknown): unknown[] {
  return texts.map(text => {
    try {
      return { value: parse(text) }
    } catch (error) {
      return { error: (error as Error).name }
    }
  })
}

const key = fc.constantFrom('a', 'b', 'text', '__proto__', '0', '1', 'x"y', '\u0001')
const leaf = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', '"', '\\', '\\"', '\n', '\u0001', '\u00010\u0001', '\ud800', 'a"b', '\\\\', '0', '12'),
  fc.integer({ min: -20, max: 2_000 }),
  fc.constantFrom(0, -0, 1.5, 0.05, 1e21, 1e-7, 123_456_789_012_345, 1_234_567_890_123_456, 700_000_000_000_007),
  fc.constantFrom(true, false, null),
)
const { shape } = fc.letrec<{ shape: unknown; list: unknown[]; object: object }>(tie => ({
  shape: fc.oneof({ depthSize: 'small' }, leaf, tie('list'), tie('object')),
  list: fc.array(tie('shape'), { maxLength: 3 }),
  object: fc.dictionary(key, tie('shape'), { maxKeys: 4 }),
}))

/** Leaves are changed in their places, in the way of events of one stream. */
function varied(value: unknown, leaves: unknown[]): unknown {
  if (Array.isArray(value)) return value.map(item => varied(item, leaves))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, varied(item, leaves)]))
  return leaves.length > 0 && Math.abs(String(value).length) % 2 === 0 ? leaves.shift() : value
}

const spaced = (value: unknown, indent: number): string => JSON.stringify(value, null, indent)

const stream = fc
  .tuple(shape, fc.array(fc.array(leaf, { maxLength: 3 }), { minLength: 1, maxLength: 8 }), fc.constantFrom(0, 0, 0, 1))
  .map(([first, changes, indent]) => [spaced(first, indent), ...changes.map(leaves => spaced(varied(first, [...leaves]), indent))])

/** What a network, or a provider, may make of them. */
const damaged = fc
  .tuple(stream, fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('', '"', '0', ',', '\\', '1', '\u0000', ':'))))
  .map(([texts, cuts]) => {
    const result = [...texts]
    for (const [which, where, put] of cuts) {
      const at = which % result.length
      const text = result[at] as string
      const place = text.length === 0 ? 0 : where % text.length
      result[at] = text.slice(0, place) + put + text.slice(place + 1)
    }
    return result
  })

test.each([
  ['events of a stream', stream],
  ['events with faults', damaged],
])('%s are what JSON.parse makes of them', (_what, texts) => {
  fc.assert(
    fc.property(texts, list => {
      expect(parsed(list, createEventParser())).toStrictEqual(parsed(list, JSON.parse))
    }),
    { numRuns: 3000, seed: 20260101 },
  )
})

const chunk = (content: string, at = 0, more = ''): string =>
  `{"id":"chatcmpl-1","created":1700000000,"choices":[{"index":${at},"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]${more}}`

test.each([
  [
    'texts',
    ['a', 'b', 'c d', '', 'é😀', 'a "quoted" word', 'line\nline', '\\', '\\"', 'a long text that would hold on to all of its block'].map(
      text => chunk(text),
    ),
  ],
  ['numbers', [0, 1, 10, 999_999_999_999_999].map(at => chunk('same', at))],
  ['a text and a number', [0, 1, 12].map(at => chunk(`word ${at}`, at))],
  ['two texts', ['x', 'y', 'zz'].map(text => chunk(text, 0, `,"obfuscation":"${text}${text}"`))],
  ['numbers that are no integers', ['1', '2', '3.5', '-4', '05', '6e2', '1234567890123456'].map(number => `{"a":${number}}`)],
  ['a key that comes twice', ['a', 'b', 'c'].map(text => `{"a":"${text}","a":"same"}`)],
  ['another key', ['{"a":"x"}', '{"b":"x"}', '{"a":"y"}', '{"b":"z"}']],
  ['the name of the prototype', ['a', 'b', 'c'].map(text => `{"__proto__":{"x":"${text}"},"y":"${text}"}`)],
  [
    'what looks like a mark',
    ['a', '\u00010\u0001', '\u00011\u0001', 'b'].map(text => `{"a":${JSON.stringify(text)},"b":"\\u00010\\u0001"}`),
  ],
  ['blanks', ['a', 'b', 'c'].map(text => ` { "a" : "${text}" , "b" : 1 } `)],
  ['what is no object', ['"a"', '"b"', '1', '2', '[1,"a"]', '[2,"b"]', 'null', '']],
])('%s', (_what, texts) => {
  expect(parsed(texts, createEventParser())).toStrictEqual(parsed(texts, JSON.parse))
})

test('an event keeps what it has when the next one comes, and shares what never changes', () => {
  const parse = createEventParser()
  const [, , third, fourth] = ['a', 'b', 'c', 'd'].map(text => parse(chunk(text, 0, ',"meta":{"tier":"x"}'))) as {
    choices: { delta: { content: string } }[]
    meta: object
  }[]
  expect(third?.choices[0]?.delta.content).toBe('c')
  expect(fourth?.choices[0]?.delta.content).toBe('d')
  expect(fourth?.meta).toBe(third?.meta)
})
