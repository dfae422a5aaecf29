// A body that is parsed in pieces is what it is when parsed as a whole, or it is refused alike.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson } from '../../engine/json.js'
import { editMembers } from '../../engine/scan.js'

const SIZES = { long: 12, piece: 8 }

const outcome = (run: () => unknown): unknown => {
  try {
    return { value: run() }
  } catch (error) {
    return String(error)
  }
}
const both = (bytes: Buffer): [unknown, unknown] => [
  outcome(() => parseJson(bytes, SIZES).value),
  outcome(() => JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))),
]

const body = fc
  .tuple(
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'model', '1', 'é', 'a"b')), fc.jsonValue({ maxDepth: 3 }), {
      maxKeys: 6,
    }),
    fc.constantFrom(undefined, 1, '\t'),
  )
  .map(([value, space]) => JSON.stringify(value, null, space))

describe('a long body', () => {
  test.each([
    ['blanks everywhere', ' { "a" : [ 1 , [ 2 ] , "x,]" ] , "b" : { } } \n'],
    ['a mark before it', '\uFEFF{"a":[1,2,3,4,5,6,7,8,9]}'],
    ['a key twice', '{"a":[1,2,3,4,5,6],"a":[6,5,4,3,2,1]}'],
    ['a key that is the prototype', '{"__proto__":[1,2,3,4,5,6],"b":1}'],
    ['keys that are numbers', '{"b":1,"2":[1,2,3,4,5,6],"1":2}'],
    ['a list of lists', '{"a":[[1,2,3],[4,5,6],[],[7,8,9]]}'],
    ['an empty list that is long', '{"a":[                      ]}'],
    ['a comma too many in a list', '{"a":[1,2,3,4,5,6,7,8,]}'],
    ['two commas in a list', '{"a":[1,2,3,4,5,,6,7,8]}'],
    ['a comma before a list', '{"a":[,1,2,3,4,5,6,7,8]}'],
    ['no comma in a list', '{"a":["1234567890" "1234567890"]}'],
    ['a comma too many', '{"a":[1,2,3,4,5,6],}'],
    ['two commas', '{"a":[1,2,3,4,5,6],,"b":1}'],
    ['a comma before all', '{,"a":[1,2,3,4,5,6]}'],
    ['no comma', '{"a":[1,2,3,4,5,6]"b":1}'],
    ['something after it', '{"a":[1,2,3,4,5,6]}x'],
    ['a comma after it', '{"a":[1,2,3,4,5,6]},'],
    ['the wrong bracket', '{"a":[1,2,3,4,5,6}}'],
    ['a list that is not closed', '{"a":[1,2,3,4,5,6'],
    ['a control character in a key', '{"a\u0001":[1,2,3,4,5,6]}'],
    ['a control character in a text', '{"a":["\u0001","2","3"]}'],
    ['a bad escape in a key', '{"\\x":[1,2,3,4,5,6]}'],
    ['half a pair in a key', '{"\\ud800":[1,2,3,4,5,6]}'],
    ['no object', '[1,2,3,4,5,6,7,8,9,10]'],
  ])('%s', (_name, text) => {
    const [ours, theirs] = both(Buffer.from(text))
    expect(ours).toEqual(theirs)
    expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs))
  })

  test('whatever it holds', () => {
    fc.assert(
      fc.property(body, text => {
        const [ours, theirs] = both(Buffer.from(text))
        expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs))
      }),
      { numRuns: 2000, seed: 1 },
    )
  })

  test('with a byte more, less or other anywhere', () => {
    const byte = fc.constantFrom(...Buffer.from('{}[]",:\\ 1ax\u0000\u001f'), 0x80, 0xc3, 0xff)
    const change = fc.tuple(fc.nat(), fc.constantFrom(0, 1), fc.option(byte, { nil: undefined }))
    fc.assert(
      fc.property(body, change, (text, [place, count, more]) => {
        const bytes = Buffer.from(text)
        const at = place % (bytes.length + 1)
        const [ours, theirs] = both(
          Buffer.concat([bytes.subarray(0, at), Buffer.from(more === undefined ? [] : [more]), bytes.subarray(at + count)]),
        )
        expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs))
      }),
      { numRuns: 5000, seed: 1 },
    )
  })

  test('its members are where they are said to be', () => {
    fc.assert(
      fc.property(body, text => {
        const bytes = Buffer.from(text)
        const { members } = parseJson(bytes, SIZES)
        const edits = new Map([
          ['model', { value: '"y"' }],
          ['é', { rename: 'z' }],
        ])
        expect(editMembers(bytes, edits, members)?.toString()).toBe(editMembers(bytes, edits)?.toString())
      }),
      { numRuns: 500, seed: 1 },
    )
  })

  test('a great body of each kind', () => {
    const words = 'Some words, "quoted", and a line.\n'.repeat(60)
    for (const text of [words, `${words}ÿ€🙂`]) {
      const value = {
        model: 'm',
        messages: Array.from({ length: 200 }, () => ({ role: 'user', content: text })),
        numbers: Array(40_000).fill(0.123456),
      }
      const parsed = parseJson(Buffer.from(JSON.stringify(value)))
      expect(parsed.value).toEqual(value)
      expect(parsed.members?.map(({ key }) => key)).toEqual(Object.keys(value))
    }
  })
})
