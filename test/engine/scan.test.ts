// Members of an object are changed in its bytes, and nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Edit, editMembers, type MemberSpan, onlyMember, scanMembers } from '../../engine/wire/json/scan.js'

const edit = (text: string, edits: Record<string, Edit>): string | undefined =>
  editMembers(Buffer.from(text), new Map(Object.entries(edits)))?.toString()

const y: Edit = { value: '"y"' }
const drop: Edit = { drop: true }

describe('editMembers', () => {
  test.each<[string, string, Record<string, Edit>, string]>([
    [
      'replaces a value and keeps every other byte',
      '{ "a" : 1.0, "model":"x" ,"b":12345678901234567890}',
      { model: y },
      '{ "a" : 1.0, "model":"y" ,"b":12345678901234567890}',
    ],
    ['keeps numbers as they are written', '{"a":1e2,"b":-0,"c":1.50,"m":1}', { m: y }, '{"a":1e2,"b":-0,"c":1.50,"m":"y"}'],
    ['keeps escapes as they are written', '{"a":"\\u0041\\/\\ud83d\\ude00","m":1}', { m: y }, '{"a":"\\u0041\\/\\ud83d\\ude00","m":"y"}'],
    ['replaces a number', '{"m":1.5e3}', { m: y }, '{"m":"y"}'],
    ['replaces a literal', '{"m":null,"n":true}', { m: y, n: y }, '{"m":"y","n":"y"}'],
    ['replaces a number before a brace', '{"o":{"a":1},"m":1}', { m: y }, '{"o":{"a":1},"m":"y"}'],
    ['replaces an object', '{"m":{"a":[{"b":"}"}]},"n":1}', { m: y }, '{"m":"y","n":1}'],
    ['replaces a list', '{"m":[[1],["]"]],"n":1}', { m: y }, '{"m":"y","n":1}'],
    ['replaces with a longer value', '{"m":"x"}', { m: { value: '{"long":[1,2,3]}' } }, '{"m":{"long":[1,2,3]}}'],
    [
      'replaces with a value of characters of several bytes',
      '{"é":"x","m":"ñ","z":"😀"}',
      { m: { value: '"€"' } },
      '{"é":"x","m":"€","z":"😀"}',
    ],
    ['leaves a member of the same name further down', '{"o":{"model":"x"},"model":"x"}', { model: y }, '{"o":{"model":"x"},"model":"y"}'],
    [
      'ignores text that looks like a member',
      '{"t":"\\"model\\":\\"x\\" } {","model":"x"}',
      { model: y },
      '{"t":"\\"model\\":\\"x\\" } {","model":"y"}',
    ],
    ['ignores backslashes before a quote', '{"t":"\\\\","m":"\\\\\\"","n":1}', { m: y }, '{"t":"\\\\","m":"y","n":1}'],
    ['ignores a value that equals the key', '{"t":"model","model":"x"}', { model: y }, '{"t":"model","model":"y"}'],
    ['finds a key that is written with escapes', '{"mod\\u0065l":"x"}', { model: y }, '{"mod\\u0065l":"y"}'],
    ['finds a key of characters of several bytes', '{"é":1,"\\u00e9":2}', { é: y }, '{"é":"y","\\u00e9":"y"}'],
    ['finds the empty key', '{"":1,"a":2}', { '': y }, '{"":"y","a":2}'],
    ['finds a key that has quotes and braces', '{"a\\"}{":1}', { 'a"}{': y }, '{"a\\"}{":"y"}'],
    ['changes every occurrence of a key', '{"model":"x","a":1,"mod\\u0065l":"z"}', { model: y }, '{"model":"y","a":1,"mod\\u0065l":"y"}'],
    ['drops every occurrence of a key', '{"m":1,"a":1,"m":2,"b":2,"m":3}', { m: drop }, '{"a":1,"b":2}'],
    ['adds to an object', '{"a":1 }', { b: { value: '2' } }, '{"a":1 ,"b":2}'],
    ['adds to an empty object', '{}', { b: { value: '2' } }, '{"b":2}'],
    ['adds to an empty object with blanks', ' { \n } \n', { b: { value: '2' } }, ' { \n "b":2} \n'],
    ['adds two', '{}', { b: { value: '2' }, c: { value: '3' } }, '{"b":2,"c":3}'],
    ['adds where everything else is dropped', '{"a":1,"b":2}', { a: drop, b: drop, c: { value: '3' } }, '{"c":3}'],
    ['adds after what is kept', '{"a":1,"b":2}', { b: drop, c: { value: '3' } }, '{"a":1,"c":3}'],
    ['drops the first', '{"a":1,"b":2}', { a: drop }, '{"b":2}'],
    ['drops the first two', '{"a":1,"b":2,"c":3}', { a: drop, b: drop }, '{"c":3}'],
    ['drops one in the middle', '{"a":1,"b":[1,{"c":"]"}],"c":3}', { b: drop }, '{"a":1,"c":3}'],
    ['drops two in the middle', '{"a":1,"b":2,"c":3,"d":4}', { b: drop, c: drop }, '{"a":1,"d":4}'],
    ['drops every second', '{"a":1,"b":2,"c":3,"d":4,"e":5}', { a: drop, c: drop, e: drop }, '{"b":2,"d":4}'],
    ['drops the last', '{"a":1, "b":2}', { b: drop }, '{"a":1}'],
    ['drops the last two', '{"a":1,"b":2,"c":3}', { b: drop, c: drop }, '{"a":1}'],
    ['drops the only one', '{"a":1}', { a: drop }, '{}'],
    ['drops all', '{"a":1,"b":2,"c":3}', { a: drop, b: drop, c: drop }, '{}'],
    ['drops among blanks', '{ "a" : 1 , "b" : 2 , "c" : 3 }', { b: drop }, '{ "a" : 1  , "c" : 3 }'],
    ['drops nothing for an unknown key', '{"a":1}', { b: drop }, '{"a":1}'],
    ['renames', '{"a":{"a":1},"b":2}', { a: { rename: 'z' } }, '{"z":{"a":1},"b":2}'],
    ['renames and replaces', '{"a" : 1,"b":2}', { a: { rename: 'z', value: '"y"' } }, '{"z":"y","b":2}'],
    ['renames to a name that needs escapes', '{"a":1}', { a: { rename: 'x"y' } }, '{"x\\"y":1}'],
    ['renames nothing for an unknown key', '{"a":1}', { b: { rename: 'z' } }, '{"a":1}'],
    ['renames one, drops one, replaces one', '{"a":1,"b":2,"c":3}', { a: { rename: 'z' }, b: drop, c: y }, '{"z":1,"c":"y"}'],
    ['drops beside what it renames', '{"a":1,"b":2}', { a: drop, b: { rename: 'z' } }, '{"z":2}'],
    ['passes over a byte order mark', '\uFEFF{"m":1}', { m: y }, '\uFEFF{"m":"y"}'],
    ['changes nothing without edits', ' {"a":1 , "b":[ ]} ', {}, ' {"a":1 , "b":[ ]} '],
  ])('%s', (_name, text, edits, expected) => {
    expect(edit(text, edits)).toBe(expected)
  })

  test.each(['[1]', '"x"', '1', 'null', '', ' '])('returns nothing for %j, which is not an object', text => {
    expect(edit(text, { m: y })).toBeUndefined()
  })

  test('returns nothing for an object that is cut at any byte', () => {
    const text = '{"a":"x\\"}","b":{"c":[1,2]},"d":1.5}'
    for (let length = 0; length < text.length; length++) expect(edit(text.slice(0, length), { a: y })).toBeUndefined()
  })

  test('does not change its input', () => {
    const bytes = Buffer.from('{"a":1,"b":2}')
    editMembers(bytes, new Map([['a', y]]))
    expect(bytes.toString()).toBe('{"a":1,"b":2}')
  })
})

describe('scanMembers', () => {
  test('reports the position of each member of the top level', () => {
    const bytes = Buffer.from('{ "é" : {"x":[1]} , "b":"\\"" }')
    const found: [string, string, string][] = []
    expect(
      scanMembers(bytes, ({ key, start, valueStart, valueEnd }) =>
        found.push([key, bytes.toString('utf8', start, start + 1), bytes.toString('utf8', valueStart, valueEnd)]),
      ),
    ).toBe(bytes.length)
    expect(found).toEqual([
      ['é', '"', '{"x":[1]}'],
      ['b', '"', '"\\""'],
    ])
  })
})

/** Objects as text: members in any order, keys twice, blanks anywhere, letters escaped or not. */
const KEYS = ['a', 'b', 'model', 'é', 'a"b', '', '\\', '{', '😀']
const blank = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n ')
const escaped = (text: string): string =>
  `"${[...Array(text.length).keys()].map(index => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')}"`
const written = fc
  .tuple(fc.constantFrom(...KEYS), fc.boolean())
  .map(([key, isEscaped]) => ({ key, text: isEscaped ? escaped(key) : JSON.stringify(key) }))
const value = fc.oneof(
  fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1)).map(([one, space]) => JSON.stringify(one, null, space)),
  fc.constantFrom('1E+2', '-0.0', '12345678901234567890', '"\\u007d\\""', '{"model":"x"}', '[{"model":[]}]'),
  fc.string().map(escaped),
)
const member = fc.tuple(written, value, blank, blank, blank, blank).map(([key, text, ...blanks]) => ({
  key: key.key,
  value: text,
  text: `${blanks[0]}${key.text}${blanks[1]}:${blanks[2]}${text}${blanks[3]}`,
}))
const object = fc.tuple(fc.array(member, { maxLength: 8 }), blank).map(([members, space]) => ({
  members,
  text: `${space}{${members.length === 0 ? space : ''}${members.map(one => one.text).join(',')}}${space}`,
}))

const change = fc.oneof(
  fc.jsonValue().map((one): Edit => ({ value: JSON.stringify(one) })),
  fc.constant<Edit>({ drop: true }),
)

/**
 * V8 13.6 (Node 24) reads an escaped name as the characters that it is written with, if objects with the same names before it
 * once had such a name: {"a":1,"\\":2} and then {"a":1,"\u0062":2}.
 */
const misreadsNames = (() => {
  for (const text of ['{"a":1,"\\\\":2}', '{"a":1,"\\\\":2}']) JSON.parse(text)
  return !('b' in JSON.parse('{"a":1,"\\u0062":2}'))
})()

describe('for any object', () => {
  test.each(['a', 'b', 'model'])('onlyMember finds the same member as a scan of all: %s', key => {
    fc.assert(
      fc.property(object, ({ text }) => {
        const bytes = Buffer.from(text)
        const all: MemberSpan[] = []
        scanMembers(bytes, member => all.push(member))
        const named = all.filter(member => member.key === key)
        const only = onlyMember(bytes, key)
        if (named.length > 0 && only) expect([only]).toEqual(named)
      }),
      { numRuns: 2000 },
    )
  })

  test.skipIf(misreadsNames)('editMembers gives the same as a change of the parsed object', () => {
    fc.assert(
      fc.property(object, fc.dictionary(fc.constantFrom(...KEYS), change), ({ text }, edits) => {
        const expected = JSON.parse(text) as Record<string, unknown>
        for (const [name, one] of Object.entries(edits)) {
          if (one.drop) delete expected[name]
          else expected[name] = JSON.parse(one.value as string)
        }
        expect(JSON.parse(edit(text, edits) ?? 'null')).toEqual(expected)
      }),
      { numRuns: 3000 },
    )
  })

  test.skipIf(misreadsNames)('editMembers keeps the value of a renamed member', () => {
    fc.assert(
      fc.property(object, fc.constantFrom(...KEYS), ({ members, text }, from) => {
        const expected = members.map(one => [one.key === from ? 'new' : one.key, JSON.parse(one.value)])
        expect(JSON.parse(edit(text, { [from]: { rename: 'new' } }) ?? 'null')).toEqual(Object.fromEntries(expected))
      }),
      { numRuns: 1000 },
    )
  })

  test('editMembers keeps every byte of other members', () => {
    fc.assert(
      fc.property(object, fc.dictionary(fc.constantFrom('a', 'model'), change), ({ members, text }, edits) => {
        const result = edit(text, edits) ?? ''
        let from = 0
        for (const one of members.filter(({ key }) => !(key in edits))) {
          const at = result.indexOf(one.text.trim(), from)
          expect(at).toBeGreaterThanOrEqual(from)
          from = at
        }
      }),
      { numRuns: 1000 },
    )
  })
})
