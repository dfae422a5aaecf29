// Events that are read with templates, compared with JSON.parse.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StreamFormat } from '../../engine/plan.js'
import { createEventTemplates, type EventReader } from '../../engine/wire/event-templates.js'
import { parseEvents } from '../../engine/wire/sse.js'

const SENTINEL = '[DONE]'

const formatWith = (markers: string[]): StreamFormat => ({
  framing: 'sse',
  sentinel: SENTINEL,
  fail: { markers, read: () => false },
})
const readerOf = (markers: string[] = []): EventReader => createEventTemplates(formatWith(markers)).reader()

const event = (data: string): string => `${data.replaceAll(/^/gm, 'data: ')}\n\n`

/** What a reader makes of texts, each a block: values, the sentinel as its text, and whether all was JSON. */
function taken(blocks: readonly string[], reader: EventReader): unknown[] {
  const values: unknown[] = []
  const areJson = blocks.map(block =>
    reader.read(block, (value, text) => {
      values.push(value === undefined ? text : value)
    }),
  )
  return [...values, areJson]
}

/** The same, without templates. */
function parsed(blocks: readonly string[]): unknown[] {
  const values: unknown[] = []
  const areJson = blocks.map(block => {
    let isJson = true
    parseEvents(block, data => {
      if (data === SENTINEL) values.push(data)
      else {
        try {
          values.push(JSON.parse(data))
        } catch {
          isJson = false
          return true
        }
      }
      return false
    })
    return isJson
  })
  return [...values, areJson]
}

const key = fc.constantFrom('a', 'b', 'text', '__proto__', '0', '1', 'x"y', '\u0001')
const leaf = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', 'a', 'error', '"', '\\', '\\"', '\n', '\u0001', '\u00010\u0001', '\ud800', 'a"b', '\\\\', '0', '12'),
  fc.integer({ min: -20, max: 2_000 }),
  fc.constantFrom(0, -0, 1.5, 0.05, 1e21, 1e-7, 123_456_789_012_345, 1_234_567_890_123_456, 700_000_000_000_007),
  fc.constantFrom(true, false, null),
)
const { shape } = fc.letrec<{ shape: unknown; list: unknown[]; object: object }>(tie => ({
  shape: fc.oneof({ depthSize: 'small' }, leaf, tie('list'), tie('object')),
  list: fc.array(tie('shape'), { maxLength: 3 }),
  object: fc.dictionary(key, tie('shape'), { maxKeys: 4 }),
}))

/** Changes leaves as the events of one stream differ. */
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
      const offset = text.length === 0 ? 0 : where % text.length
      result[at] = text.slice(0, offset) + put + text.slice(offset + 1)
    }
    return result
  })

/** Whether a marker begins in a text somewhere else than at a quote that a backslash makes part of a string. */
function hasMarker(text: string, marker: string): boolean {
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
    const backslashes = /\\*$/.exec(text.slice(0, at))?.[0].length ?? 0
    if (!marker.startsWith('"') || backslashes % 2 === 0) return true
  }
  return false
}

const markers = fc.subarray(['"a"', '"a":"', '"error"', '"text":"a', '"', 'error', '12', '":', '"",', 'x\\"y'])

describe.each([
  ['events of streams', stream],
  ['events with faults', damaged],
])('%s', (_what, texts) => {
  const streams = fc.array(texts, { minLength: 1, maxLength: 3 })

  test('are read as JSON.parse reads them', () => {
    fc.assert(
      fc.property(streams, lists => {
        const templates = createEventTemplates(formatWith([]))
        for (const list of lists) {
          const blocks = [list.map(event).join(''), ...list.map(event)]
          expect(taken(blocks, templates.reader())).toStrictEqual(parsed(blocks))
        }
      }),
      { numRuns: 3000, seed: 20260101 },
    )
  })

  test('come with their text if it contains a marker', () => {
    fc.assert(
      fc.property(streams, markers, (lists, watched) => {
        const templates = createEventTemplates(formatWith(watched))
        for (const list of lists) {
          const reader = templates.reader()
          for (const text of list.map(event))
            reader.read(text, (_value, told) => {
              if (told === undefined) expect(watched.filter(marker => hasMarker(text, marker))).toStrictEqual([])
            })
        }
      }),
      { numRuns: 3000, seed: 20260101 },
    )
  })
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
  ['texts with more escapes than are looked for', ['a', 'b', '"'.repeat(63), '"'.repeat(64), '"'.repeat(65)].map(text => chunk(text))],
  ['invalid escapes', ['"a"', '"b"', '"\\x"', '"\\u12"', '"\\'].map(text => `{"a":${text}}`)],
  ['numbers', [0, 1, 10, 999_999_999_999_999].map(at => chunk('same', at))],
  ['a text and a number', [0, 1, 12].map(at => chunk(`word ${at}`, at))],
  ['two texts', ['x', 'y', 'zz'].map(text => chunk(text, 0, `,"obfuscation":"${text}${text}"`))],
  ['numbers that are no integers', ['1', '2', '3.5', '-4', '05', '6e2', '1234567890123456'].map(number => `{"a":${number}}`)],
  ['numbers that differ before the point', ['1.05', '0.05', '2.05', '3.5e1', '4.5e1'].map(number => `{"a":${number}}`)],
  ['a key that comes twice', ['a', 'b', 'c'].map(text => `{"a":"${text}","a":"same"}`)],
  ['another key', ['{"a":"x"}', '{"b":"x"}', '{"a":"y"}', '{"b":"z"}']],
  ['the name of the prototype', ['a', 'b', 'c'].map(text => `{"__proto__":{"x":"${text}"},"y":"${text}"}`)],
  [
    'texts that look like a mark',
    ['a', '\u00010\u0001', '\u00011\u0001', 'b'].map(text => `{"a":${JSON.stringify(text)},"b":"\\u00010\\u0001"}`),
  ],
  ['characters of regular expressions', ['a', 'b', 'c'].map(text => `{"a":"${text}","b":"(.*)[a]{1}^$|?+ \\\\d /"}`)],
  ['blanks', ['a', 'b', 'c'].map(text => ` { "a" : "${text}" , "b" : 1 } `)],
  ['values that are not objects', ['"a"', '"b"', '1', '2', '[1,"a"]', '[2,"b"]', 'null', '']],
  ['the end', [chunk('a'), chunk('b'), SENTINEL, chunk('c')]],
])('%s', (_what, texts) => {
  const blocks = texts.map(event)
  expect(taken(blocks, readerOf())).toStrictEqual(parsed(blocks))
})

test.each([
  ['line ends of every kind', ['\n', '\r\n', '\r'].map(end => `data: {"a":"x"}\n\ndata: {"a":"y"}${end}${end}data: {"a":"z"}${end}${end}`)],
  ['line ends of two kinds', ['data: {"a":"x"}\r\n\rdata: {"a":"y"}\n\rdata: {"a":"z"}\r\n\n']],
  ['names of events', ['x', 'y', 'z'].map(text => `event: piece\ndata: {"a":"${text}"}\n\n`)],
  ['other names', ['x', 'y', 'z'].map(text => `event: ${text}\ndata: {"a":"same"}\n\n`)],
  ['numbers of events', ['x', 'y', 'z'].map((text, index) => `id: ${index}\ndata: {"a":"${text}"}\n\n`)],
  ['comments, with quotes', ['x', 'y', 'z'].map(text => `: "${text}\ndata: {"a":"${text}"}\n\n: "\n\n`)],
  ['several lines of data', ['x', 'y', 'z'].map(text => `data: {"a":\ndata: "${text}"}\n\n`)],
  ['a line end in a text', ['x', 'y', 'z\nz', 'z\n\nz'].map(text => `data: {"a":"${text}"}\n\n`)],
  ['a byte order mark', ['\ufeffdata: {"a":"x"}\n\n', 'data: {"a":"y"}\n\n', 'data: {"a":"z"}\n\n']],
])('%s', (_what, blocks) => {
  expect(taken(blocks, readerOf())).toStrictEqual(parsed(blocks))
})

/** How many of some events were cast, where none of them has a marker. */
function castOf(texts: readonly string[], reader: EventReader): number {
  let count = 0
  for (const text of texts)
    reader.read(event(text), (_value, told) => {
      if (told === undefined) count++
    })
  return count
}

test('a stream uses the templates of earlier streams', () => {
  const templates = createEventTemplates(formatWith([]))
  const streamOf = (id: number): string[] => ['a', 'b', 'c'].map(text => `{"id":"${id}","created":${id},"text":"${text}"}`)
  expect(castOf(streamOf(1), templates.reader())).toBe(1)
  expect(castOf(streamOf(2), templates.reader())).toBe(2)
  expect(castOf(streamOf(3), templates.reader())).toBe(3)
})

test('events with names and ids use templates', () => {
  const lines = (text: string, index: number): string => `event: piece\nid: ${index}\ndata: {"text":"${text}"}\n\n`
  let count = 0
  readerOf().read(['a', 'b', 'c', 'd'].map(lines).join(''), (_value, told) => {
    if (told === undefined) count++
  })
  expect(count).toBe(2)
})

test('templates are rarely tried if all events differ, and are learnt again when events repeat', () => {
  const templates = createEventTemplates(formatWith([]))
  // Each name occurs twice, and never again.
  for (let kind = 0; kind < 200; kind++)
    castOf(
      ['a', 'b'].map(text => `{"kind ${kind}":"${text}"}`),
      templates.reader(),
    )
  const streamOf = (id: number): string[] => ['a', 'b', 'c'].map(text => `{"id":"${id}","text":"${text}"}`)
  expect(castOf(streamOf(0), templates.reader())).toBe(0)
  for (let id = 1; id < 20; id++) castOf(streamOf(id), templates.reader())
  expect(castOf(streamOf(20), templates.reader())).toBe(3)
})

test.each([
  ['a word that a text may be', ['"error"'], ['x', 'y', 'z', 'error', 'an error'].map(text => `{"a":"${text}"}`), [3]],
  ['a name that follows', ['"b":"'], ['x', 'y', 'z', 'b'].map(text => `{"a":"${text}","b":null}`), []],
  ['an existing name', ['"b"'], ['x', 'y', 'z'].map(text => `{"a":"${text}","b":null}`), [2]],
  ['a word without quotes', ['stop'], ['x', 'y', 'z', 'stop'].map(text => `{"a":"${text}"}`), [2, 3]],
  ['a word in quotes that a text speaks of', ['"stop"'], ['x', 'y', 'z', '\\"stop\\"'].map(text => `{"a":"${text}"}`), []],
  ['a name and the beginning of a text', ['"a":"er'], ['x', 'y', 'z', 'error'].map(text => `{"a":"${text}"}`), [2, 3]],
  ['a name and a number', ['"a":1'], [5, 6, 7, 12].map(number => `{"a":${number}}`), [2, 3]],
  ['a number', ['12'], [5, 6, 7, 12].map(number => `{"a":${number}}`), [2, 3]],
  ['two texts', ['"a":"x","b":"y'], ['p', 'q', 'r', 'x'].map(text => `{"a":"${text}","b":"${text === 'x' ? 'y' : text}"}`), [2, 3]],
  ['a text with a backslash', ['"x\\"y"'], ['p', 'q', 'r', 'x\\"y'].map(text => `{"a":"${text}"}`), [2, 3]],
])('an event with a marker comes with its text: %s', (_what, watched, texts, told) => {
  const reader = readerOf(watched)
  const indices: number[] = []
  texts.forEach((text, index) => {
    reader.read(event(text), (_value, read) => {
      if (read !== undefined) indices.push(index)
    })
  })
  // Two come before there is a template.
  expect(indices).toStrictEqual([0, 1, ...told])
})

test('reading stops when the handler returns true', () => {
  const reader = readerOf()
  const values: unknown[] = []
  const text = ['a', 'b', 'c', 'd'].map(content => event(chunk(content))).join('')
  const isJson = reader.read(text, value => values.push(value) === 3)
  expect(isJson).toBe(true)
  expect(values).toHaveLength(3)
})

test('an event keeps its values when the next one is read, and shares constant ones', () => {
  const values: { choices: { delta: { content: string } }[]; meta: object }[] = []
  const text = ['a', 'b', 'c', 'd'].map(content => event(chunk(content, 0, ',"meta":{"tier":"x"}'))).join('')
  readerOf().read(text, value => {
    values.push(value as (typeof values)[number])
  })
  const [, , third, fourth] = values
  expect(third?.choices[0]?.delta.content).toBe('c')
  expect(fourth?.choices[0]?.delta.content).toBe('d')
  expect(fourth?.meta).toBe(third?.meta)
})
