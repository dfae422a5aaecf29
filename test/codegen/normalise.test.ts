// The leniency of an API, as codegen derives it from a schema: each kind by itself, and none by default. And which values of a
// provider's answer are converted.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { Normalisers } from '../../codegen/compile/normalise.js'
import { newAjv } from '../../codegen/read/ajv.js'
import { loosened, type Schema, schemaId } from '../../codegen/read/schemas.js'
import { root, temporary } from './fixture.js'

const SCHEMA = load(`
type: object
required: [model, needed]
properties:
  model: { type: string }
  needed: { type: array, items: { type: string } }
  someName: { type: string }
  count: { type: integer, minimum: 1 }
  big: { type: [integer, string] }
  flag: { type: boolean }
  list: { type: array, minItems: 1, items: { $ref: '#/$defs/thing' } }
  both: { type: [string, array], items: { type: string } }
  word: { enum: [ON, OFF], enum_numbers: { ON: 1, OFF: 2 } }
  open: { type: string, enum_numbers: { LOW: 1 } }
  bytes: { type: string, contentEncoding: base64 }
  maybe: { type: [string, 'null'] }
  own: { type: object }
  picture: { type: object, also: string, required: [url], properties: { url: { type: string } } }
  map: { type: object, additionalProperties: { $ref: '#/$defs/thing' } }
  either:
    anyOf:
      - enum: [none]
      - union: { by: kind, of: { a: { properties: { size: { type: number } } }, b: { required: [deep], properties: { deep: { $ref: '#/$defs/thing' } } } } }
  usage: { type: object, properties: { tokens: { type: integer } } }
$defs:
  thing: { type: object, properties: { size: { type: number }, inner: { $ref: '#/$defs/thing' } } }
`) as Schema

const ID = schemaId('own', 'request')
const set = new Map([[ID, SCHEMA]])
type Normalise = (body: unknown) => unknown

const LENIENT: [leniency: string, given: Record<string, unknown>, made: Record<string, unknown>][] = [
  [
    'null_is_absent',
    { someName: null, maybe: null, list: [{ size: null }], own: { a: null } },
    { maybe: null, list: [{}], own: { a: null } },
  ],
  ['one_is_a_list', { list: { size: 1 }, needed: 'a', both: 'a' }, { list: [{ size: 1 }], needed: ['a'], both: 'a' }],
  [
    'number_in_text',
    {
      count: '5',
      big: '5',
      list: [{ size: '-1.5e3' }],
      map: { a: { size: '1' } },
      either: { kind: 'a', size: '2' },
      someName: '5',
      own: { count: '5' },
    },
    {
      count: 5,
      big: '5',
      list: [{ size: -1500 }],
      map: { a: { size: 1 } },
      either: { kind: 'a', size: 2 },
      someName: '5',
      own: { count: '5' },
    },
  ],
  ['number_in_text', { count: 'five', list: [{ size: '' }] }, { count: 'five', list: [{ size: '' }] }],
  ['flag_in_text', { flag: 'true', someName: 'true' }, { flag: true, someName: 'true' }],
  ['text_of_number', { someName: 5, big: 5, maybe: 5 }, { someName: '5', big: 5, maybe: '5' }],
  ['enum_case', { word: 'on', open: 'Low', someName: 'ON' }, { word: 'ON', open: 'LOW', someName: 'ON' }],
  ['enum_case', { word: 'perhaps', open: 'Middle' }, { word: 'perhaps', open: 'Middle' }],
  ['enum_number', { word: 2, open: 1 }, { word: 'OFF', open: 'LOW' }],
  ['enum_number', { word: 9 }, { word: 9 }],
  [
    'snake_case_names',
    { some_name: 'x', own: { some_name: 1 }, map: { some_name: {} } },
    { someName: 'x', own: { some_name: 1 }, map: { some_name: {} } },
  ],
  ['url_safe_base64', { bytes: 'a-_', someName: 'a-_' }, { bytes: 'a+/=', someName: 'a-_' }],
]

const STRANGE: Record<string, unknown> = {
  someName: null,
  needed: 'a',
  count: '5',
  flag: 'true',
  list: { size: '1' },
  word: 'on',
  open: 1,
  some_name: 'x',
  bytes: 'a-_',
}

async function modules(): Promise<Record<string, Normalise>> {
  const made = new Normalisers(set)
  for (const leniency of new Set(LENIENT.map(([name]) => name))) made.addRequest(leniency, ID, [leniency])
  made.addRequest('none', ID, [])
  made.addAnswer('answer', ID, ['usage'])
  const path = join(temporary(), 'normalise.mjs')
  writeFileSync(path, made.print(pathToFileURL(join(root, 'dist/engine')).href))
  return (await import(pathToFileURL(path).href)) as Record<string, Normalise>
}
const made = await modules()

describe('a leniency', () => {
  test.each(LENIENT)('named %s normalises %j', (leniency, given, expected) => {
    expect(made[leniency]?.(structuredClone(given))).toEqual(expected)
  })

  test('is off by default', () => {
    expect(made.none?.(structuredClone(STRANGE))).toEqual(STRANGE)
  })
})

describe('an answer', () => {
  const answer = (more: Record<string, unknown>): unknown => made.answer?.({ model: 'm', needed: [], ...structuredClone(more) })

  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{ count: '5' }, { count: 5 }],
    [{ someName: 5 }, { someName: '5' }],
    [{ flag: 'false' }, { flag: false }],
    [{ someName: null, list: null, own: null }, {}],
    [{ own: [] }, { own: {} }],
    [{ either: 'none' }, { either: 'none' }],
    [{ either: { kind: 'b', deep: { size: '1' } } }, { either: { kind: 'b', deep: { size: 1 } } }],
    [{ either: { kind: 'of_tomorrow', deep: 5 } }, { either: { kind: 'of_tomorrow', deep: 5 } }],
    [{ usage: { tokens: {} } }, {}],
    [{ usage: 'much' }, {}],
    [{ more: { of: 'tomorrow' } }, { more: { of: 'tomorrow' } }],
  ])('is normalised: %j', (given, expected) => {
    expect(answer(given)).toEqual({ model: 'm', needed: [], ...expected })
  })

  test.each<[Record<string, unknown>, string]>([
    [{ needed: null }, "'needed' should be array"],
    [{ needed: [{}] }, "'needed' should be string"],
    [{ count: 'many' }, "'count' should be number"],
    [{ someName: true }, "'someName' should be string"],
    [{ word: 5 }, "'word' should be string"],
    [{ list: {} }, "'list' should be array"],
    [{ list: [5] }, "'list' should be object"],
    [{ map: { a: 5 } }, "'a' should be object"],
    [{ picture: [] }, "'picture' should be object"],
    [{ either: { kind: 5 } }, "'kind' should be string"],
    [{ either: { kind: 'b', deep: { size: true } } }, "'size' should be number"],
  ])('is invalid: %j', (given, told) => {
    expect(() => answer(given)).toThrow(told)
  })
})

describe('the shape of a request', () => {
  const [[id]] = [...loosened(set)] as [[string, Schema]]
  const validate = newAjv(loosened(set)).getSchema(id)
  const fits = (more: Record<string, unknown>): unknown => validate?.({ model: 'm', needed: [], ...more })

  test.each<Record<string, unknown>>([
    { count: -5 },
    { list: [] },
    { word: 'PERHAPS' },
    { word: 5 },
    { someName: null, list: null, map: null, either: null },
    { either: { kind: 'of_tomorrow', deep: 5 } },
    { picture: 'https://a.example/b.png' },
  ])('accepts %j', given => {
    expect(fits(given)).toBe(true)
  })

  test.each<Record<string, unknown>>([
    { model: null },
    { needed: null },
    { count: '5' },
    { word: 5.5 },
    { list: [5] },
    { either: { kind: 'b' } },
    { either: {} },
    { picture: {} },
    { picture: 5 },
  ])('refuses %j', given => {
    expect(fits(given)).toBe(false)
  })
})
