// An outline is the body without the content of its long strings, or does not exist; and it is found in bytes that are cut
// into windows.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { character } from '../../cli/cases/words.js'
import { base64Bytes, codePointLength, isOmitted } from '../../engine/core/text.js'
import { type Outline, outlineOf } from '../../engine/wire/json/outline.js'
import { editMembers } from '../../engine/wire/json/scan.js'

const LONG = 12

/** Whether a value is another one with texts left out. */
function isOutlineOf(seen: unknown, whole: unknown): boolean {
  if (typeof whole === 'string') {
    if (seen === whole) return true
    return typeof seen === 'string' && isOmitted(seen) && whole.startsWith(/^[^\t]*/.exec(seen)?.[0] as string)
  }
  if (Array.isArray(whole))
    return Array.isArray(seen) && seen.length === whole.length && seen.every((item, index) => isOutlineOf(item, whole[index]))
  if (typeof whole !== 'object' || whole === null) return seen === whole
  if (typeof seen !== 'object' || seen === null) return false
  // A name may be long, too; two of them may then be one.
  const known = seen as Record<string, unknown>
  return Object.entries(whole).every(([name, value]) =>
    Object.hasOwn(known, name) ? isOutlineOf(known[name], value) : Object.keys(known).some(other => isOmitted(other)),
  )
}

const parsed = (bytes: Buffer): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(bytes.toString('utf8')) }
  } catch {
    return undefined
  }
}

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: character, maxLength: 40 }),
  fc.constantFrom('"', '\\', '\\"', '\n', '\u0001', 'a long text that stands for itself', 'é€🙂', '__proto__'),
)
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom(null, true, 0, -1.5e30),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(text, tie('any'), { maxKeys: 4 }),
  ),
})).any
const body = fc
  .tuple(fc.dictionary(fc.oneof(text, fc.constantFrom('model', '1')), value, { maxKeys: 6 }), fc.constantFrom(undefined, 1, '\t'))
  .map(([object, space]) => JSON.stringify(object, null, space))

describe('an outline', () => {
  test('is the body without long strings', () => {
    fc.assert(
      fc.property(body, json => {
        const outline = outlineOf(Buffer.from(json), LONG)
        expect(isOutlineOf((outline as Outline).body, JSON.parse(json))).toBe(true)
      }),
      { numRuns: 3000, seed: 1 },
    )
  })

  test('exists only for valid JSON, whatever byte is added, removed or changed', () => {
    const byte = fc.constantFrom(...Buffer.from('{}[]",:\\ 1axu\u0000\u001f\t'), 0x80, 0xc3, 0xff)
    const change = fc.tuple(fc.nat(), fc.constantFrom(0, 1), fc.option(byte, { nil: undefined }))
    let refused = 0
    fc.assert(
      fc.property(body, change, (json, [offset, count, more]) => {
        const bytes = Buffer.from(json)
        const at = offset % (bytes.length + 1)
        const changed = Buffer.concat([bytes.subarray(0, at), Buffer.from(more === undefined ? [] : [more]), bytes.subarray(at + count)])
        const outline = outlineOf(changed, LONG)
        const whole = parsed(changed)
        if (outline === undefined) refused++
        else expect(isOutlineOf(outline.body, (whole as { value: unknown }).value)).toBe(true)
      }),
      { numRuns: 10_000, seed: 1 },
    )
    expect(refused).toBeGreaterThan(1000)
  })

  test.each([
    ['an escape of four digits', '"\\u00e9 a long text"', true],
    ['an escape of three', '"\\u00e a long text"', false],
    ['an invalid escape', '"a long text \\x"', false],
    ['a line break in a text', '"a long\ntext of two lines"', false],
    ['an escaped end', '"a long text without end\\"', false],
    ['characters of several bytes', '"é€🙂 and so on, and so on"', true],
    ['bytes that are no characters', Buffer.from([0x22, ...Array<number>(20).fill(0xff), 0x22]), true],
  ])('%s', (_name, long, isText) => {
    const bytes = Buffer.concat([Buffer.from('{"a":'), Buffer.from(long), Buffer.from(',"b":1}')])
    expect(outlineOf(bytes, LONG) !== undefined).toBe(isText)
    expect(parsed(bytes) !== undefined).toBe(isText)
  })

  test('does not exist if a short text is not valid UTF-8, as positions would shift', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('","b":"a long text, longer than that"}')])
    expect(outlineOf(bytes, LONG)).toBeUndefined()
  })

  test('knows the positions of members in the whole body', () => {
    const edits = new Map([
      ['model', { value: '"y"' }],
      ['é', { rename: 'z' }],
    ])
    fc.assert(
      fc.property(body, json => {
        const bytes = Buffer.from(json)
        const { members } = outlineOf(bytes, LONG) as Outline
        expect(editMembers(bytes, edits, members)?.toString()).toBe(editMembers(bytes, edits)?.toString())
      }),
      { numRuns: 2000, seed: 1 },
    )
  })

  test('has the beginnings of keys and strings', () => {
    const bytes = Buffer.from(JSON.stringify({ mark: 'tag.and so on, and so on', 'a key that is long': 'other é tag. and so on' }))
    const outline = outlineOf(bytes, LONG) as Outline
    expect(outline.bytes.includes('"tag.')).toBe(true)
    expect(outline.bytes.includes('"a key that')).toBe(true)
    expect(outline.bytes.length).toBe(Buffer.from(JSON.stringify(outline.body)).length)
  })

  test('is the same for any end of a window', () => {
    const unit = 'a "quoted" \\ word\n, é€🙂 \u0001'
    for (let before = 0; before < 40; before++) {
      // The window's end moves through quotes, escapes of two and six letters, and letters of several bytes.
      const value = {
        before: 'x'.repeat(before),
        texts: Array.from({ length: 5 }, (_, index) => unit.repeat(1200 + index)),
        n: [1, 2],
        model: 'm',
      }
      const bytes = Buffer.from(JSON.stringify(value))
      expect(bytes.length).toBeGreaterThan(3 * 65_536)
      const outline = outlineOf(bytes) as Outline
      expect(isOutlineOf(outline.body, value)).toBe(true)
      expect(outline.bytes.length).toBeLessThan(1000)
      expect(outline.members.map(({ key }) => key)).toEqual(Object.keys(value))
      for (const { key, valueStart, valueEnd } of outline.members)
        expect(JSON.parse(bytes.toString('utf8', valueStart, valueEnd))).toEqual(value[key as keyof typeof value])
      expect(
        outlineOf(Buffer.concat([bytes.subarray(0, 70_000 + before), Buffer.from([1]), bytes.subarray(70_000 + before)])),
      ).toBeUndefined()
    }
  })
})

test('checks that need an omitted text fail', () => {
  const data = Buffer.alloc(300, 7).toString('base64')
  const { body } = outlineOf(Buffer.from(JSON.stringify({ data, text: 'short' }))) as { body: { data: string; text: string } }
  expect(isOmitted(body)).toBe(true)
  expect(isOmitted(body.text)).toBe(false)
  expect(body.data.startsWith(data.slice(0, 16))).toBe(true)
  expect(codePointLength(body.data)).toBe(Number.POSITIVE_INFINITY)
  expect(base64Bytes(body.data)).toBe(300)
  expect([base64Bytes(data), base64Bytes('AA=='), base64Bytes('AAA='), base64Bytes('')]).toEqual([300, 1, 2, 0])
  expect([codePointLength('a🙂é'), codePointLength('x'.repeat(100))]).toEqual([3, 100])
})
