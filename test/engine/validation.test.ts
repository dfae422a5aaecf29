// Findings of a validator, with the exact path of the field.

import { describe, expect, test } from 'vitest'
import { newAjv } from '../../codegen/read/ajv.js'
import type { Schema } from '../../codegen/read/schemas.js'
import { GatewayError } from '../../engine/core/errors.js'
import { checkShape, fieldPath } from '../../engine/core/validation.js'
import type { Validate } from '../../engine/plan.js'
import { plan } from './plan.js'

/** A validator as codegen makes it. */
function validator(schema: Schema): Validate {
  const id = 'https://sluice.invalid/test/request'
  return newAjv(new Map([[id, schema]])).getSchema(id) as unknown as Validate
}

function refusal(schema: Schema, value: unknown): GatewayError {
  try {
    checkShape(validator(schema), value)
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError)
    return error as GatewayError
  }
  throw new Error('it was accepted')
}

const inList = (schema: Schema): Schema => ({
  type: 'object',
  properties: { list: { type: 'array', items: { type: 'object', properties: { a: schema } } } },
})
const listed = (value: unknown): unknown => ({ list: [{}, { a: value }] })

describe('an error', () => {
  test.each<[string, Schema, unknown, string, string, RegExp]>([
    ['type', { type: 'string' }, 1, 'list[1].a', 'invalid_type', /'list\[1\]\.a': expected string\./],
    ['type, one of several', { type: ['string', 'array', 'null'] }, 1, 'list[1].a', 'invalid_type', /expected string, array or null\./],
    ['integer', { type: 'integer' }, 1.5, 'list[1].a', 'invalid_type', /expected integer\./],
    ['enum', { enum: ['x', 'y', null] }, 'z', 'list[1].a', 'invalid_value', /expected one of 'x', 'y' or null\./],
    ['const', { const: 'x' }, 'y', 'list[1].a', 'invalid_value', /expected "x"\./],
    [
      'required',
      { type: 'object', required: ['b'] },
      {},
      'list[1].a.b',
      'missing_required_parameter',
      /Missing required parameter: 'list\[1\]\.a\.b'\./,
    ],
    [
      'additionalProperties',
      { additionalProperties: false },
      { b: 1 },
      'list[1].a.b',
      'unknown_parameter',
      /Unknown parameter: 'list\[1\]\.a\.b'\./,
    ],
    ['minimum', { minimum: 0 }, -1, 'list[1].a', 'invalid_value', /must be >= 0\./],
    ['maximum', { maximum: 2 }, 2.1, 'list[1].a', 'invalid_value', /must be <= 2\./],
    ['exclusiveMinimum', { exclusiveMinimum: 0 }, 0, 'list[1].a', 'invalid_value', /must be > 0\./],
    ['exclusiveMaximum', { exclusiveMaximum: 1 }, 1, 'list[1].a', 'invalid_value', /must be < 1\./],
    ['minItems 1', { minItems: 1 }, [], 'list[1].a', 'empty_array', /at least 1 item\./],
    ['minItems', { minItems: 2 }, [1], 'list[1].a', 'array_below_min_length', /at least 2 items\./],
    ['maxItems', { maxItems: 1 }, [1, 2], 'list[1].a', 'array_above_max_length', /at most 1 items?\./],
    ['minLength', { minLength: 2 }, 'x', 'list[1].a', 'string_below_min_length', /at least 2 characters\./],
    ['maxLength', { maxLength: 1 }, 'xy', 'list[1].a', 'string_above_max_length', /at most 1 characters?\./],
    ['max_base64_bytes', { max_base64_bytes: 2 }, 'AAAA', 'list[1].a', 'invalid_value', /larger than 2 bytes/],
    ['pattern', { pattern: '^x' }, 'y', 'list[1].a', 'invalid_value', /Invalid value for 'list\[1\]\.a'/],
    [
      'pattern in words',
      { pattern: '^x', description: 'it must begin with x' },
      'y',
      'list[1].a',
      'invalid_value',
      /^Invalid value for 'list\[1\]\.a': it must begin with x\.$/,
    ],
    ['multipleOf', { multipleOf: 2 }, 3, 'list[1].a', 'invalid_value', /Invalid value for 'list\[1\]\.a'/],
    ['false', false, 1, 'list[1].a', 'invalid_value', /Invalid value for 'list\[1\]\.a'/],
    [
      'anyOf, where one branch has the type',
      { anyOf: [{ type: 'string' }, { type: 'object', required: ['b'] }] },
      1,
      'list[1].a',
      'invalid_type',
      /'list\[1\]\.a'/,
    ],
    ['not', { not: { type: 'string' } }, 'x', 'list[1].a', 'invalid_value', /Invalid value for 'list\[1\]\.a'/],
    ['if', { if: { type: 'string' }, then: { minLength: 3 } }, 'x', 'list[1].a', 'string_below_min_length', /at least 3/],
  ])('of %s names its field', (_name, schema, value, param, code, message) => {
    const { kind, message: told, more } = refusal(inList(schema), listed(value))
    expect({ kind, param: more.param, code: more.code }).toEqual({ kind: 'invalid_request', param, code })
    expect(told).toMatch(message)
  })

  const union: Schema = {
    union: {
      by: 'type',
      of: {
        text: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
        image: { type: 'object', properties: { url: { type: 'string' } } },
      },
    },
  }
  test.each<[string, unknown, string]>([
    ['a wrong type in a branch', { type: 'text', text: 1 }, 'list[1].a.text'],
    ['a missing member of a branch', { type: 'text' }, 'list[1].a.text'],
    ['a wrong type in another branch', { type: 'image', url: {} }, 'list[1].a.url'],
    ['an unknown branch', { type: 'song' }, 'list[1].a.type'],
    ['no branch', {}, 'list[1].a.type'],
  ])('in a union names its field: %s', (_name, value, param) => {
    expect(refusal(inList(union), listed(value)).more.param).toBe(param)
  })

  test('of an unknown branch lists the known branches', () => {
    expect(refusal(inList(union), listed({ type: 'song' })).message).toMatch(/'text'.*'image'/)
  })

  test('at the top level names its field without a dot', () => {
    expect(refusal({ required: ['model'] }, {}).more.param).toBe('model')
    expect(refusal({ additionalProperties: false }, { x: 1 }).more.param).toBe('x')
    expect(refusal({ properties: { a: { type: 'string' } } }, { a: 1 }).more.param).toBe('a')
  })

  test('of the whole body names the body', () => {
    expect(refusal({ type: 'object', minProperties: 1 }, {}).message).toMatch(/^The request body must NOT have fewer than 1 propert/)
  })

  test('is not raised for surrogate pairs, which count as one character', () => {
    const schema: Schema = { properties: { a: { maxLength: 2 } } }
    expect(() => checkShape(validator(schema), { a: '😀😀' })).not.toThrow()
    expect(refusal(schema, { a: '😀😀😀' }).more.param).toBe('a')
  })

  test('is not raised for a valid request', () => {
    expect(() => checkShape(validator(inList({ type: 'string' })), listed('x'))).not.toThrow()
  })
})

test.each([
  ['', ''],
  ['/model', 'model'],
  ['/messages/0/role', 'messages[0].role'],
  ['/a/0/1/b', 'a[0][1].b'],
  ['/a~1b/c~0d', 'a/b.c~d'],
  ['/a~01', 'a~1'],
])('the pointer %j is the field %j', (pointer, path) => {
  expect(fieldPath(pointer)).toBe(path)
})

describe('an error deep in a request', () => {
  const chat = (content: unknown, more = {}): unknown => ({ model: 'm', messages: [{ role: 'user', content }], ...more })
  const messages = (content: unknown, more = {}): unknown => ({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content }], ...more })
  const generate = (parts: unknown, more = {}): unknown => ({ contents: [{ role: 'user', parts }], ...more })
  test.each<[string, unknown, string]>([
    ['chat', chat([{ type: 'text', text: 1 }]), 'messages[0].content[0].text'],
    ['chat', chat(1), 'messages[0].content'],
    ['chat', chat([{ type: 'image_url', image_url: {} }]), 'messages[0].content[0].image_url.url'],
    ['chat', chat('x', { tools: [{ type: 'function', function: {} }] }), 'tools[0].function.name'],
    ['chat', chat('x', { stop: [1] }), 'stop[0]'],
    ['chat', chat('x', { tool_choice: { type: 'function' } }), 'tool_choice.function'],
    [
      'messages',
      messages([{ type: 'image', source: { type: 'base64', media_type: 'x', data: 'a' } }]),
      'messages[0].content[0].source.media_type',
    ],
    [
      'messages',
      messages([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text' }] }]),
      'messages[0].content[0].content[0].text',
    ],
    ['messages', messages('x', { thinking: { type: 'enabled' } }), 'thinking.budget_tokens'],
    ['responses', { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text: 1 }] }] }, 'input[0].content[0].text'],
    ['responses', { model: 'm', input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }, 'input[0].call_id'],
    ['generate', generate([{ text: 1 }]), 'contents[0].parts[0].text'],
    ['generate', generate([{ functionCall: {} }]), 'contents[0].parts[0].functionCall.name'],
    ['generate', generate([{ text: 'x' }], { generationConfig: { temperature: 'x' } }), 'generationConfig.temperature'],
  ])('of %s names its field: %j, %s', (dialect, body, param) => {
    expect(() => checkShape(plan.dialects[dialect]?.validateRequest as Validate, body)).toThrow(
      expect.objectContaining({ more: expect.objectContaining({ param }) }) as Error,
    )
  })
})
