// What passes without being parsed is JSON nevertheless: the scan never accepts what JSON.parse refuses, and accepts
// everything that providers write.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSurelyJson, sureEvents, surelyMembers } from '../../engine/wire/json/well-formed.js'
import { names, printCode } from '../../tools/wat.mjs'
import { dialects } from './dialects.js'
import { ask, setUp } from './fake-upstreams.js'
import { chunk, json, streamHead } from './upstream.js'

test.each(names())('the code of %s is up to date', async name => {
  expect(readFileSync(join(import.meta.dirname, `../../engine/wire/json/${name}-code.ts`), 'utf8')).toBe(await printCode(name))
})

const NONE: readonly string[] = []

const areSurelyEvents = (block: Buffer, markers: readonly string[]): boolean => sureEvents(block, markers) === block.length

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const value = fc.jsonValue({ maxDepth: 6, noUnicodeString: false })
const spaced = fc.tuple(value, fc.constantFrom(undefined, 1, '\t')).map(([item, space]) => JSON.stringify(item, undefined, space))

test('isSurelyJson accepts what JSON.stringify writes', () => {
  fc.assert(
    fc.property(spaced, text => isSurelyJson(Buffer.from(text))),
    { numRuns: 2000 },
  )
})

test('isSurelyJson accepts no damaged text that is not JSON', () => {
  const letter = fc.constantFrom(...'{}[]:,"\\ \n\t\r0123456789-+.eEtrufalsn\u0000\u001fxué')
  const damage = fc.tuple(fc.nat(), fc.nat(2), fc.array(letter, { maxLength: 2 }))
  fc.assert(
    fc.property(spaced, fc.array(damage, { minLength: 1, maxLength: 3 }), (text, damages) => {
      let damaged = text
      for (const [where, gone, letters] of damages) {
        const at = where % (damaged.length + 1)
        damaged = damaged.slice(0, at) + letters.join('') + damaged.slice(at + gone)
      }
      if (isSurelyJson(Buffer.from(damaged))) expect(isJson(damaged)).toBe(true)
      const line = damaged.replaceAll(/[\r\n]/g, ' ')
      if (areSurelyEvents(Buffer.from(`event: x\ndata: ${line}\n\n`), NONE)) expect(isJson(line)).toBe(true)
    }),
    { numRuns: 20_000 },
  )
})

test('a marker is found at any position, and nothing else', () => {
  const MARKERS = ['"error"', '"finish_reason":"', '"finish_reason": "', '[DONE]', 'x', 'xx', 'é"', '"'.repeat(40)]
  const part = fc.oneof(
    fc.constantFrom(...MARKERS),
    fc.string({ maxLength: 20 }),
    fc.constantFrom('"finish_reason":null', '"erro', 'r"', '[DONE'),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.subarray(MARKERS, { maxLength: 2 }), fc.string(), (parts, markers, before) => {
      // What an earlier block leaves in the scanner's memory is not part of the next one.
      areSurelyEvents(Buffer.from(`: ${before}${markers.join('')}${parts.join('')}`), NONE)
      const line = `: ${parts.join('').replaceAll(/[\r\n]/g, ' ')}`
      const holds = markers.some(each => line.includes(each))
      expect(areSurelyEvents(Buffer.from(`${line}\n\n`), markers)).toBe(!holds)
    }),
    { numRuns: 20_000 },
  )
})

test('sureEvents counts the bytes of the events before the first that has to be parsed', () => {
  const MARKERS = ['"usage":{', '"error"']
  const sure = fc.constantFrom(
    'data: {"a":[1,"x"]}',
    'event: x\ndata: {"usage":null}',
    ': hi',
    'id: 1\ndata: []',
    'event: the error\ndata: 1',
  )
  const other = fc.constantFrom(
    'data: {"usage":{}}',
    'event: "error"\ndata: {}',
    'data: [DONE]',
    'data: 1\ndata: 2',
    'data: {"a":',
    'data',
    'event: error\ndata: {}',
    'id: 1\nevent:error\ndata: {}',
    'error: {}',
    'error:1',
  )
  const end = fc.constantFrom('\n', '\r\n', '\r')
  fc.assert(
    fc.property(
      fc.array(sure, { maxLength: 5 }),
      fc.array(fc.oneof(sure, other), { maxLength: 5 }),
      fc.option(other),
      end,
      (before, after, next, end) => {
        const bytes = (events: readonly string[]): Buffer => Buffer.from(events.map(event => `${event}\n\n`.replaceAll('\n', end)).join(''))
        const block = bytes(next === null ? before : [...before, next, ...after])
        expect(sureEvents(block, MARKERS)).toBe(bytes(before).length)
      },
    ),
    { numRuns: 5_000 },
  )
})

test('isSurelyJson accepts no tokens that are not JSON', () => {
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"\\u00e9"',
    '"\\u00g9"',
    '1',
    '-',
    '-0.5e+3',
    '01',
    'true',
    'null',
    'nul',
    ' ',
    '\n',
  )
  fc.assert(
    fc.property(fc.array(token, { maxLength: 9 }), tokens => {
      expect(isSurelyJson(Buffer.from(tokens.join('')))).toBe(isJson(tokens.join('')))
    }),
    { numRuns: 20_000 },
  )
})

test('isSurelyJson reads texts that are longer than a window, with tokens across its end', () => {
  for (let shift = 0; shift < 80; shift += 1) {
    const text = JSON.stringify({
      pad: 'x'.repeat(1024 * 1024 - 100 + shift),
      list: [1.5e10, 'é"\\', true, false, null, { a: [] }],
      end: 'y'.repeat(100_000),
    })
    expect(isSurelyJson(Buffer.from(text))).toBe(true)
    expect(isSurelyJson(Buffer.from(text.replace('true,', 'true ')))).toBe(false)
    expect(isSurelyJson(Buffer.from(text.slice(0, -1)))).toBe(false)
  }
})

describe('surelyMembers', () => {
  const USAGE = ['usage', 'error']

  test.each<[string, unknown]>([
    ['{"usage":{"a":1}}', { usage: { a: 1 } }],
    ['{"id":"\\"usage\\":1","usage":2,"tier":{"b":[1,{}]}}\n', { usage: 2 }],
    [' { "usage" : [ 1 , 2 ] , "error" : null } ', { usage: [1, 2], error: null }],
    ['{"a":{"usage":1}}', {}],
    ['{"a":[{"usage":1}]}', {}],
    ['{"a":"usage"}', {}],
    ['{}', {}],
    ['{"usage":1,"usage":2}', undefined],
    ['{"usage":1,"\\u0075sage":2}', undefined],
    ['{"\\u0075sage":1}', undefined],
    ['data: {"usage":1}', undefined],
    ['[{"usage":1}]', undefined],
    ['{"usage":1', undefined],
    ['', undefined],
  ])('reads the members of %s', (text, wanted) => {
    expect(surelyMembers(Buffer.from(text), USAGE)).toEqual(wanted)
  })

  test('gives the members that parsing gives, at any position', () => {
    const name = fc.constantFrom('usage', 'error', 'usag', 'usages', 'a', 'é', '')
    const member = fc.tuple(name, fc.oneof(value, fc.dictionary(name, value, { maxKeys: 3 })))
    fc.assert(
      fc.property(fc.uniqueArray(member, { selector: ([key]) => key }), fc.constantFrom(undefined, 1, '\t'), (members, space) => {
        const text = JSON.stringify(Object.fromEntries(members), undefined, space)
        const wanted = Object.entries(JSON.parse(text) as object).filter(([key]) => USAGE.includes(key))
        expect(surelyMembers(Buffer.from(text), USAGE)).toEqual(Object.fromEntries(wanted))
      }),
      { numRuns: 5000 },
    )
  })

  test('finds members on both sides of the end of a window, and across it', () => {
    for (let shift = 0; shift < 200; shift += 7) {
      const given = {
        error: [1],
        pad: ['x'.repeat(500_000), 'x'.repeat(1024 * 1024 - 500_150 + shift)],
        usage: { a: 'y'.repeat(60), b: [1, { c: 2 }] },
        end: 1,
      }
      expect(surelyMembers(Buffer.from(JSON.stringify(given)), USAGE)).toEqual({ error: given.error, usage: given.usage })
    }
  })
})

describe.each(['\n', '\r\n', '\r'])('events whose lines end with %j', end => {
  test.each<[string, string, boolean]>([
    ['one', 'data: {"a":[1,"x"]}\n\n', true],
    ['several, with names and comments', ': hi\nevent: x\nid: 1\ndata: {}\n\ndata:[]\n\n\ndata: 1\n\n', true],
    ['two lines of data', 'data: {"a":\ndata: 1}\n\n', false],
    ['two lines, each of which is JSON', 'data: 1\ndata: 2\n\n', false],
    ['an event that is cut off', 'data: {}\n\ndata: {"a":"x\n\n', false],
    ['an event that is cut off after a bracket', 'data: {}\n\ndata: {"a":{}\n\n', false],
    ['a word', 'data: {}\n\ndata: hello\n\n', false],
    ['no data', 'data\n\n', false],
  ])('%s', (_name, text, expected) => {
    expect(areSurelyEvents(Buffer.from(text.replaceAll('\n', end)), NONE)).toBe(expected)
  })
})

const DAMAGES: [string, (text: string) => string][] = [
  ['a bracket is missing', text => text.replace(/\}(?=[^}]*$)/, '')],
  ['a bracket too many', text => text.replace(/\}(?=[^}]*$)/, '}}')],
  ['a string does not end', text => text.replace('Hi"', 'Hi')],
  ['a comma is missing', text => text.replace(/,(?=")/, '')],
  ['a value is missing', text => text.replace(/:"Hi"/, ':')],
]

describe.each(['chat', 'messages', 'generate', 'responses'] as const)('%s, in the same dialect', name => {
  const dialect = dialects[name]
  test.each(DAMAGES)('an event in which %s is a failure that the client gets', async (_name, damage) => {
    const events = dialect.begin + damage(dialect.text('Hi')) + dialect.end
    const { gateway } = await setUp([socket => socket.write(streamHead + chunk(events) + chunk(''))], {}, dialect.provider)
    const text = await (await ask(gateway, { dialect, stream: true })).text()
    expect(text).not.toMatch(dialect.proof)
    expect(text).toMatch(/error/)
  })

  test.each(DAMAGES)('a body in which %s is a failure, and the next target is tried', async (_name, damage) => {
    const broken = damage(JSON.stringify(dialect.answer))
    const { gateway, upstreams } = await setUp(
      [socket => json(socket, 200, broken), socket => json(socket, 200, dialect.answer)],
      {},
      dialect.provider,
    )
    const response = await ask(gateway, { dialect })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Hi')
    expect(upstreams[1]?.requests).toHaveLength(1)
  })
})
