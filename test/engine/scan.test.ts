// Members of an object changed in its bytes, and nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Edit, editMembers } from '../../engine/scan.js'

const edit = (text: string, edits: Record<string, Edit>): string | undefined =>
  editMembers(Buffer.from(text), new Map(Object.entries(edits)))?.toString()

describe('editMembers', () => {
  test.each<[string, string, Record<string, Edit>, string]>([
    [
      'replaces a value and keeps every other byte',
      '{ "a" : 1.0, "model":"x" ,"b":12345678901234567890}',
      { model: { value: '"y"' } },
      '{ "a" : 1.0, "model":"y" ,"b":12345678901234567890}',
    ],
    [
      'leaves a member of the same name further down',
      '{"o":{"model":"x"},"model":"x"}',
      { model: { value: '"y"' } },
      '{"o":{"model":"x"},"model":"y"}',
    ],
    [
      'is not misled by text that looks like a member',
      '{"t":"\\"model\\":\\"x\\" } {","model":"x"}',
      { model: { value: '"y"' } },
      '{"t":"\\"model\\":\\"x\\" } {","model":"y"}',
    ],
    ['finds a key that is written with escapes', '{"mod\\u0065l":"x"}', { model: { value: '"y"' } }, '{"mod\\u0065l":"y"}'],
    ['changes every occurrence of a key', '{"model":"x","model":"z"}', { model: { value: '"y"' } }, '{"model":"y","model":"y"}'],
    ['adds to an object', '{"a":1 }', { b: { value: '2' } }, '{"a":1 ,"b":2}'],
    ['adds to an empty object', '{}', { b: { value: '2' } }, '{"b":2}'],
    ['drops the first', '{"a":1,"b":2}', { a: { drop: true } }, '{"b":2}'],
    ['drops one in the middle', '{"a":1,"b":[1,{"c":"]"}],"c":3}', { b: { drop: true } }, '{"a":1,"c":3}'],
    ['drops the last', '{"a":1, "b":2}', { b: { drop: true } }, '{"a":1}'],
    ['drops the only one', '{"a":1}', { a: { drop: true } }, '{}'],
    ['renames', '{"a":{"a":1},"b":2}', { a: { rename: 'z' } }, '{"z":{"a":1},"b":2}'],
  ])('%s', (_name, text, edits, expected) => {
    expect(edit(text, edits)).toBe(expected)
  })

  test('gives nothing for what is no object', () => {
    expect(edit('[1]', {})).toBeUndefined()
    expect(edit('"x"', {})).toBeUndefined()
  })

  test('means the same as changing the parsed object', () => {
    const key = fc.constantFrom('a', 'b', 'model', 'é', 'a"b', '')
    const change = fc.oneof(
      fc.jsonValue().map(value => ({ value: JSON.stringify(value) })),
      fc.constant({ drop: true as const }),
    )
    fc.assert(
      fc.property(
        fc.dictionary(key, fc.jsonValue()),
        fc.dictionary(key, change),
        fc.constantFrom(undefined, 1, '\t'),
        (object, edits, space) => {
          const expected: Record<string, unknown> = { ...object }
          for (const [name, one] of Object.entries(edits)) {
            if ('drop' in one) delete expected[name]
            else expected[name] = JSON.parse(one.value)
          }
          const result = edit(JSON.stringify(object, null, space), edits as Record<string, Edit>)
          expect(JSON.parse(result ?? 'null')).toEqual(JSON.parse(JSON.stringify(expected)))
        },
      ),
      { numRuns: 2000 },
    )
  })
})
