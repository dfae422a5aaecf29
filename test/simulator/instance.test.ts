// Generated values, checked by an independent validator.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { instance } from '../../cli/simulator/instance.js'
import { matching } from '../../cli/simulator/pattern.js'

const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@ ]+@[^@ ]+$/,
  uri: /^https:\/\//,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
}

const text = { type: 'string' }

describe('an instance is what its schema allows', () => {
  test.each<[string, Record<string, unknown>]>([
    ['nothing said', {}],
    [
      'an object',
      {
        type: 'object',
        properties: { a: text, b: { type: 'integer' }, c: { type: 'boolean' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
    ],
    ['an object without a type', { properties: { a: text }, required: ['a', 'b'] }],
    ['as many members as there must be', { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } }],
    ['as many members as there may be', { type: 'object', properties: { a: text, b: text, c: text }, required: ['c'], maxProperties: 1 }],
    ['a list', { type: 'array', items: { type: 'number' }, minItems: 3, uniqueItems: true }],
    ['an empty list', { type: 'array', items: text, maxItems: 0 }],
    ['a tuple', { type: 'array', prefixItems: [text, { type: 'integer' }], items: { type: 'boolean' }, minItems: 3 }],
    ['a list that holds something', { type: 'array', contains: { const: 7 } }],
    ['different texts', { type: 'array', items: text, minItems: 5, uniqueItems: true }],
    ['a short text', { type: 'string', maxLength: 2 }],
    ['a long text', { type: 'string', minLength: 30, maxLength: 31 }],
    ['a pattern', { type: 'string', pattern: '^[A-Z]{2}-\\d{4}(?:-(?:x|y))?$' }],
    ['a long pattern', { type: 'string', pattern: '^[a-z]+$', minLength: 9 }],
    ...Object.keys(FORMATS).map((format): [string, Record<string, unknown>] => [
      format,
      { type: 'array', items: { type: 'string', format }, minItems: 3, uniqueItems: true },
    ]),
    ['an integer in a range', { type: 'integer', minimum: 10, maximum: 12 }],
    ['a negative number', { type: 'number', maximum: -3 }],
    ['a multiple', { type: 'integer', multipleOf: 7, minimum: 8 }],
    ['bounds that may not be taken', { type: 'integer', exclusiveMinimum: 4, exclusiveMaximum: 6 }],
    ['a narrow range', { type: 'number', exclusiveMinimum: 0, maximum: 0.5 }],
    ['a range of fractions', { type: 'number', minimum: 0.1, maximum: 0.2 }],
    ['an enum', { enum: ['a', 'b'] }],
    ['a constant', { const: { any: ['thing'] } }],
    ['a type or null', { type: ['null', 'integer'] }],
    ['null alone', { type: 'null' }],
    ['any of', { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: text }, required: ['a'] }] }],
    [
      'one of, beside properties',
      {
        type: 'object',
        properties: { kind: text, a: text },
        required: ['kind'],
        oneOf: [{ required: ['a'], properties: { kind: { const: 'x' } } }, { properties: { kind: { const: 'y' } } }],
      },
    ],
    [
      'all of',
      {
        allOf: [
          { type: 'object', properties: { a: text }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] },
        ],
      },
    ],
    [
      'a reference',
      { $defs: { 'a/b': { type: 'integer' } }, type: 'object', properties: { n: { $ref: '#/$defs/a~1b' } }, required: ['n'] },
    ],
    [
      'a default, an example',
      { type: 'object', properties: { a: { type: 'string', default: 'x' }, b: { type: 'string', examples: ['y'] } } },
    ],
    [
      'a tree that holds itself',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: {
              name: text,
              children: { type: 'array', items: { $ref: '#/$defs/node' } },
              next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
            },
            required: ['name', 'children', 'next'],
          },
        },
      },
    ],
  ])('%s', (_, schema) => {
    const check = new Ajv2020({ strict: false, formats: FORMATS }).compile(schema)
    for (const salt of [0, 1, 5]) {
      const made = instance(schema, salt)
      expect(check(made), `${JSON.stringify(made)} ${JSON.stringify(check.errors)}`).toBe(true)
      expect(instance(schema, salt)).toEqual(made)
    }
  })
})

test('the upper-case types of Google', () => {
  expect(instance({ type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'ARRAY', items: { type: 'INTEGER' } } } })).toEqual({
    a: 'text',
    b: [2],
  })
})

test('a schema that requires itself without end still comes to one', () => {
  expect(JSON.stringify(instance({ type: 'object', properties: { again: { $ref: '#' } }, required: ['again'] }))).toContain('null')
})

test('what a tool or a schema may be instead', () => {
  for (const odd of [undefined, null, true, 'x', []]) expect(instance(odd)).toBe('text')
})

test.each([
  '^\\w+@\\w+\\.com$',
  '^[^a-z]{3,}$',
  '^(foo|bar)+$',
  '^a*b?c{2,4}$',
  '^\\p{L}+$',
  '^\\u0041\\x42$',
  '^[\\w.-]{2}$',
  '^.{3}$',
  '[]]x',
  '^\\S\\s\\D\\W$',
  '^(?<year>\\d{4})$',
  '^\\[\\]$',
])('a text for %s', pattern => {
  expect(matching(pattern)).toMatch(new RegExp(pattern === '[]]x' ? '[\\]]x' : pattern, 'u'))
})
