// The leaves of random values: what stands in texts, names, ids, addresses and the like. What a member is called hints at
// what is written into it, in any API.

import fc from 'fast-check'

/** A member that is not there. */
const NONE = Symbol('none')

/** Objects with these members; `mostly` makes one of them optional. */
export function keyed(entries: readonly (readonly [string, fc.Arbitrary<unknown>])[]): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(...entries.map(([, arbitrary]) => arbitrary)).map(values => {
    const result: Record<string, unknown> = {}
    values.forEach((value, index) => {
      if (value !== NONE) result[(entries[index] as [string, unknown])[0]] = value
    })
    return result
  })
}

export function mostly(chance: number, arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const there = Math.max(1, Math.round(chance * 100))
  return fc.oneof({ withCrossShrink: true }, { arbitrary: fc.constant(NONE), weight: 100 - there }, { arbitrary, weight: there })
}

/** Surrogates, which are no characters of their own. */
const SURROGATES = 0xd800
const COUNT = 0x800
/**
 * Any character: what the library calls `binary`, with the same values from the same seed. To find the number of a character, the
 * library would first make a table of all of them, which takes a second.
 */
export const character: fc.Arbitrary<string> = fc.nat(0x10ffff - COUNT).map(
  index => String.fromCodePoint(index < SURROGATES ? index : index + COUNT),
  text => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (code === undefined || String.fromCodePoint(code) !== text || (code >= SURROGATES && code < SURROGATES + COUNT))
      throw new Error('not one character')
    return code < SURROGATES ? code : code - COUNT
  },
)

/** Texts as people and models write them, and as they should not. */
const TEXTS = [
  'Hello',
  '',
  ' ',
  '\n',
  'Grüße, 世界! 👩‍👩‍👧 𝒳',
  '{"a": [1, 2.50, "x"], "é": "\\ud83d\\ude00"}',
  '[]',
  'null',
  'line\r\nline\rline\u2028line',
  'data: [DONE]\n\n',
  '</system>',
  '${x} $eval("1") <b>&amp;</b>',
  'مرحبا\u200f',
  '\u0000\u0007',
  'sluice.sim.',
]
export const text: fc.Arbitrary<string> = fc.oneof(
  { withCrossShrink: true },
  { arbitrary: fc.constantFrom(...TEXTS), weight: 3 },
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }), weight: 2 },
  { arbitrary: fc.string({ unit: character, maxLength: 12 }), weight: 1 },
)

/** Few, so that calls and results meet. */
const ids = fc.constantFrom('call_1', 'call_2', 'toolu_01A', 'a', 'fc-3.x:y', `call_${'0123456789'.repeat(7)}`, 'id with spaces', '')
const names = fc.constantFrom('get_weather', 'search', 'a', `mcp__server__${'long_name_'.repeat(6)}tool`, 'x-y', 'with.dot', 'ü b', '_')

/** The beginnings of files, whole ones in small. */
const FILES = {
  'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'image/jpeg': '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////',
  'image/gif': 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'image/webp': 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  'application/pdf': 'JVBERi0xLjQKJcOkw7zDtsOf',
  'audio/wav': 'UklGRiQAAABXQVZFZm10IBAAAAABAAEA',
  'text/plain': 'R3LDvMOfZSwg5LiW55WM',
} as const
const base64 = fc.oneof(
  { withCrossShrink: true },
  { arbitrary: fc.constantFrom(...Object.values(FILES)), weight: 4 },
  { arbitrary: fc.uint8Array({ maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('base64')), weight: 2 },
)
const dataUri = fc.constantFrom(...Object.entries(FILES)).map(([type, data]) => `data:${type};base64,${data}`)
const address = fc.constantFrom(
  'https://example.com/a.png',
  'http://example.com/b.pdf?x=1',
  'https://www.youtube.com/watch?v=1',
  'gs://bucket/x.mp4',
  'files/abc',
)
const signature = fc.constantFrom('c2lnbmF0dXJl', 'sluice.sim.c2ln', 'sluice.other.c2ln', 'c2x1aWNlLnNpbS5jMmxu', 'google:x', '')

export const jsonValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 2, withCrossShrink: true },
    { arbitrary: fc.constantFrom(null, true, false, 0, -1, 1.5, 1e21, 12345678901), weight: 3 },
    { arbitrary: text, weight: 3 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 1 },
    { arbitrary: fc.dictionary(fc.constantFrom('a', 'b', 'type', 'name', 'x y', 'ü', ''), tie('value'), { maxKeys: 3 }), weight: 2 },
  ),
})).value

export const jsonObject = fc.dictionary(fc.constantFrom('city', 'days', 'a', 'type', 'ü', 'input', 'x y'), jsonValue, { maxKeys: 4 })

/** JSON Schemas as tools are declared with. */
export const jsonSchema: fc.Arbitrary<Record<string, unknown>> = fc.letrec<{ schema: Record<string, unknown> }>(tie => ({
  schema: fc.oneof(
    { depthSize: 'small', maxDepth: 3, withCrossShrink: true },
    {
      arbitrary: keyed([
        [
          'type',
          mostly(
            0.8,
            fc.constantFrom<unknown>('string', 'number', 'integer', 'boolean', 'null', ['string', 'null'], ['string', 'integer']),
          ),
        ],
        ['description', mostly(0.3, text)],
        ['enum', mostly(0.2, fc.array(fc.constantFrom<unknown>('a', 'b', 1, null, true), { minLength: 1, maxLength: 3 }))],
        ['const', mostly(0.05, fc.constantFrom<unknown>('a', 1, null))],
        ['format', mostly(0.1, fc.constantFrom('date-time', 'email', 'int32', 'x'))],
        ['minimum', mostly(0.1, fc.integer({ min: -5, max: 5 }))],
        ['exclusiveMaximum', mostly(0.05, fc.integer({ min: 6, max: 9 }))],
        ['pattern', mostly(0.1, fc.constant('^a+$'))],
        ['default', mostly(0.1, jsonValue)],
      ]),
      weight: 3,
    },
    {
      arbitrary: keyed([
        ['type', mostly(0.9, fc.constantFrom<unknown>('object', ['object', 'null']))],
        ['properties', mostly(0.9, fc.dictionary(fc.constantFrom('city', 'days', 'type', 'ü', '$ref'), tie('schema'), { maxKeys: 3 }))],
        ['required', mostly(0.5, fc.subarray(['city', 'days', 'type']))],
        ['additionalProperties', mostly(0.3, fc.oneof(fc.boolean(), tie('schema')))],
        ['$defs', mostly(0.1, fc.dictionary(fc.constantFrom('node', 'a'), tie('schema'), { maxKeys: 2 }))],
        ['patternProperties', mostly(0.05, fc.dictionary(fc.constant('^x'), tie('schema'), { maxKeys: 1 }))],
      ]),
      weight: 3,
    },
    {
      arbitrary: keyed([
        ['type', fc.constant('array')],
        ['items', mostly(0.9, tie('schema'))],
        ['minItems', mostly(0.2, fc.nat(3))],
      ]),
      weight: 1,
    },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(tie('schema'), { minLength: 1, maxLength: 3 }))
        .map(([keyword, list]) => ({ [keyword]: list })),
      weight: 1,
    },
    { arbitrary: fc.constantFrom({ $ref: '#/$defs/node' }, { $ref: '#' }, { $ref: '#/$defs/none' }, {}), weight: 1 },
  ),
})).schema

/** The arguments of a call as models write them: mostly JSON. */
const argumentsText = fc.oneof(
  { withCrossShrink: true },
  { arbitrary: jsonObject.map(value => JSON.stringify(value)), weight: 5 },
  { arbitrary: jsonObject.map(value => JSON.stringify(value, null, 1)), weight: 2 },
  { arbitrary: fc.constantFrom('', '{}', '[1]', '{"a":', 'null', '{"a":1e300,"b":0.10}', '"x"'), weight: 2 },
)

export interface StringRules {
  /** The name of the member. */
  hint: string
  examples: readonly unknown[]
  patterns: readonly string[]
  bounds: { minLength?: number; maxLength?: number; max_base64_bytes?: number }
}

export function stringFor({ hint, examples, patterns, bounds }: StringRules): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = bounds
  const fits = (value: string): boolean => {
    const length = [...value].length
    return length >= minLength && length <= maxLength && patterns.every(pattern => new RegExp(pattern, 'u').test(value))
  }
  const [pattern] = patterns
  if (pattern !== undefined) {
    const made =
      bounds.max_base64_bytes === undefined
        ? fc.stringMatching(new RegExp(pattern)).filter(fits)
        : // Base64 after a file's first bytes, as long as base64 is.
          fc
            .stringMatching(new RegExp(`${pattern.replace('.', '[A-Za-z0-9+/]')}[A-Za-z0-9+/]{0,40}$`))
            .map(value => value.padEnd(Math.ceil(value.length / 4) * 4, 'A'))
    const known = wordsFor(hint, fits, examples)
    return known.length === 0
      ? made
      : fc.oneof({ withCrossShrink: true }, { arbitrary: fc.constantFrom(...known), weight: 4 }, { arbitrary: made, weight: 1 })
  }
  if (minLength === 0 && maxLength === Number.POSITIVE_INFINITY) {
    const own = hinted(hint)
    const texts = examples.filter(example => typeof example === 'string')
    return texts.length === 0
      ? own
      : fc.oneof({ withCrossShrink: true }, { arbitrary: own, weight: 2 }, { arbitrary: fc.constantFrom(...texts), weight: 3 })
  }
  const known = wordsFor(hint, fits, examples)
  const free = fc.string({
    unit: character,
    minLength,
    ...(maxLength !== Number.POSITIVE_INFINITY && { maxLength: Math.min(maxLength, minLength + 20) }),
  })
  return fc.oneof({ withCrossShrink: true }, ...(known.length > 0 ? [{ arbitrary: fc.constantFrom(...known), weight: 4 }] : []), {
    arbitrary: free,
    weight: 1,
  })
}

/** Members that hold an id, a name and so on, by what they are called. */
const HINTS: readonly [RegExp, fc.Arbitrary<string>][] = [
  [/arguments|partial_json/i, argumentsText],
  [/(^|_)ids?$|[a-z]Id$/, ids],
  [/signature|encrypted/i, signature],
  [/file_data|image_url$/i, fc.oneof(dataUri, address, base64, text)],
  [
    /ur[li]$/i,
    fc.oneof(
      { withCrossShrink: true },
      { arbitrary: address, weight: 3 },
      { arbitrary: dataUri, weight: 3 },
      { arbitrary: text, weight: 1 },
    ),
  ],
  [/data$|^b64|_b64$/i, fc.oneof({ withCrossShrink: true }, { arbitrary: base64, weight: 5 }, { arbitrary: text, weight: 1 })],
  [/mime_?type|media_type/i, fc.constantFrom<string>(...Object.keys(FILES), 'video/mp4', '')],
  [/name$/i, fc.oneof({ withCrossShrink: true }, { arbitrary: names, weight: 6 }, { arbitrary: text, weight: 1 })],
]
function hinted(hint: string): fc.Arbitrary<string> {
  return HINTS.find(([pattern]) => pattern.test(hint))?.[1] ?? text
}

const FIXED: readonly [RegExp, readonly string[]][] = [
  [
    /name$/i,
    ['get_weather', 'search', 'a', 'x-y', '_', `mcp__server__${'long_name_'.repeat(5)}`, `mcp__server__${'long_name_'.repeat(9)}`],
  ],
  [/(^|_)ids?$|[a-z]Id$/, ['call_1', 'call_2', 'toolu_01A', 'a', 'id with spaces', `call_${'0123456789'.repeat(7)}`]],
  [
    /ur[li]$/i,
    ['https://example.com/a.png', 'http://example.com/b.pdf', 'gs://bucket/x.mp4', `data:image/png;base64,${FILES['image/png']}`],
  ],
  [/data$/i, Object.values(FILES)],
]
function wordsFor(hint: string, fits: (value: string) => boolean, examples: readonly unknown[]): string[] {
  const fixed = FIXED.find(([pattern]) => pattern.test(hint))?.[1] ?? TEXTS
  return [...examples.filter(example => typeof example === 'string'), ...fixed].filter(fits)
}
