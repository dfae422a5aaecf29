// Our own keywords of schemas, and what the compiler learns from schemas.

import { describe, expect, test } from 'vitest'
import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Shape, STR, UNDEF } from '../../codegen/jsonata/types.js'
import { newAjv } from '../../codegen/read/ajv.js'
import { expand, type Schema, schemaId, shapeOf } from '../../codegen/read/schemas.js'

const ID = schemaId('test', 'request')

/** Where a value does not satisfy a schema, as `path keyword`; nothing where it does. */
function errors(schema: Schema, value: unknown, others: Record<string, Schema> = {}): string[] {
  const ajv = newAjv(new Map([[ID, schema], ...Object.entries(others)]), { allErrors: true })
  const validate = ajv.getSchema(ID)
  if (validate === undefined) throw new Error('no such schema')
  return validate(value)
    ? []
    : (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
}

const OF = {
  text: { required: ['text'], properties: { text: { type: 'string' } } },
  image: { required: ['url'], properties: { url: { type: 'string' }, text: { type: 'number' } } },
}

const UNIONS: [name: string, schema: Schema, value: unknown, errors: string[]][] = [
  ['a branch', { union: { by: 'type', of: OF } }, { type: 'text', text: 'a' }, []],
  ['another branch', { union: { by: 'type', of: OF } }, { type: 'image', url: 'a', text: 1 }, []],
  ['a required member of a branch', { union: { by: 'type', of: OF } }, { type: 'text' }, [' required']],
  ['the type of a member in its branch', { union: { by: 'type', of: OF } }, { type: 'image', url: 'a', text: 'b' }, ['/text type']],
  ['a value that names no branch', { union: { by: 'type', of: OF } }, { text: 'a' }, [' required']],
  ['a value that names an unknown branch', { union: { by: 'type', of: OF } }, { type: 'audio' }, ['/type enum']],
  ['a value that names its branch by a number', { union: { by: 'type', of: OF } }, { type: 5 }, ['/type type', '/type enum']],
  ['null', { union: { by: 'type', of: OF } }, null, [' type']],
  ['a list in place of an object', { union: { by: 'type', of: OF } }, ['text'], [' type']],
  ['unknown members, which pass', { union: { by: 'type', of: OF } }, { type: 'text', text: 'a', more: 1 }, []],
  ['an open union with an unknown branch, which passes', { union: { by: 'type', of: OF, other: 'open' } }, { type: 'audio', text: 5 }, []],
  ['an open union with a known branch', { union: { by: 'type', of: OF, other: 'open' } }, { type: 'text', text: 5 }, ['/text type']],
  ['an open union without the name of a branch', { union: { by: 'type', of: OF, other: 'open' } }, {}, [' required']],
  ['an open union whose branch is named by a number', { union: { by: 'type', of: OF, other: 'open' } }, { type: 1 }, ['/type type']],
  ['a default branch without its name', { union: { by: 'type', of: OF, default: 'text' } }, { text: 'a' }, []],
  ['a default branch without a required member', { union: { by: 'type', of: OF, default: 'text' } }, {}, [' required']],
  ['a default branch with its name', { union: { by: 'type', of: OF, default: 'text' } }, { type: 'text', text: 5 }, ['/text type']],
  ['another branch beside a default', { union: { by: 'type', of: OF, default: 'text' } }, { type: 'image', url: 1 }, ['/url type']],
  ['an unknown branch beside a default', { union: { by: 'type', of: OF, default: 'text' } }, { type: 'audio' }, ['/type enum']],
  [
    'keywords beside a union',
    { required: ['id'], properties: { id: { type: 'string' } }, union: { by: 'type', of: OF } },
    { type: 'text', text: 'a' },
    [' required'],
  ],
  ['allOf beside a union', { allOf: [{ required: ['id'] }], union: { by: 'type', of: OF } }, { type: 'text', text: 'a' }, [' required']],
  [
    'a union in a list',
    { type: 'array', items: { union: { by: 'type', of: OF } } },
    [{ type: 'text', text: 'a' }, { type: 'text' }],
    ['/1 required'],
  ],
  [
    'a union in a branch of a union',
    { union: { by: 'type', of: { deep: { properties: { part: { union: { by: 'kind', of: { a: { required: ['x'] } } } } } } } } },
    { type: 'deep', part: { kind: 'a' } },
    ['/part required'],
  ],
  [
    'a union in a property named default',
    { properties: { default: { union: { by: 'type', of: OF } } } },
    { default: { type: 'audio' } },
    ['/default/type enum'],
  ],
  [
    'a union in a property named const',
    { properties: { const: { union: { by: 'type', of: OF } } } },
    { const: { type: 'audio' } },
    ['/const/type enum'],
  ],
  ['a property named union', { properties: { union: { type: 'string' } } }, { union: 5 }, ['/union type']],
  ['a union whose member is named union', { union: { by: 'union', of: { a: { required: ['x'] } } } }, { union: 'a' }, [' required']],
  [
    'a union behind a reference',
    { properties: { a: { $ref: '#/$defs/part' } }, $defs: { part: { union: { by: 'type', of: OF } } } },
    { a: { type: 'audio' } },
    ['/a/type enum'],
  ],
]

describe('the expanded schema', () => {
  for (const [name, schema, value, expected] of UNIONS) test(`checks ${name}`, () => expect(errors(schema, value)).toEqual(expected))

  test('follows references to another file and another dialect', () => {
    const schema = { properties: { near: { $ref: 'response#/$defs/a' }, far: { $ref: '../other/request#/$defs/b' } } }
    const others = {
      [schemaId('test', 'response')]: { $defs: { a: { type: 'string' } } },
      [schemaId('other', 'request')]: { $defs: { b: { union: { by: 'type', of: OF } } } },
    }
    expect(errors(schema, { near: 'a', far: { type: 'text', text: 'a' } }, others)).toEqual([])
    expect(errors(schema, { near: 1, far: { type: 'audio' } }, others)).toEqual(['/near type', '/far/type enum'])
  })

  test('leaves the original unchanged', () => {
    const schema = Object.freeze({ union: Object.freeze({ by: 'type', of: Object.freeze(OF) }), properties: Object.freeze({ a: true }) })
    const before = JSON.stringify(schema)
    expand(schema)
    expect(JSON.stringify(schema)).toBe(before)
  })
})

const BASE64: [name: string, bytes: number, limit: number, accepted: boolean][] = [
  ['no bytes', 0, 0, true],
  ['one byte, with a limit of 0', 1, 0, false],
  ['one byte, with two characters of padding', 1, 1, true],
  ['two bytes, with a limit of 1', 2, 1, false],
  ['two bytes, with one character of padding', 2, 2, true],
  ['three bytes, with a limit of 2', 3, 2, false],
  ['three bytes without padding', 3, 3, true],
  ['four bytes, with a limit of 3', 4, 3, false],
  ['five MiB', 5 * 1024 * 1024, 5 * 1024 * 1024, true],
  ['one byte more than five MiB', 5 * 1024 * 1024 + 1, 5 * 1024 * 1024, false],
]

describe('max_base64_bytes', () => {
  for (const [name, bytes, limit, accepted] of BASE64) {
    test(`counts the decoded bytes of ${name}`, () => {
      const text = Buffer.alloc(bytes, 0xff).toString('base64')
      const wanted = accepted ? [] : [' max_base64_bytes']
      expect(errors({ max_base64_bytes: limit }, text)).toEqual(wanted)
      expect(errors({ max_base64_bytes: limit }, text.replaceAll('=', '')), 'without padding').toEqual(wanted)
      expect(errors({ max_base64_bytes: limit }, text.replaceAll('/', '_')), 'url-safe').toEqual(wanted)
    })
  }

  test('ignores values that are not texts', () => {
    expect(errors({ max_base64_bytes: 1 }, 12345)).toEqual([])
  })
})

const JSON_VALUE = ANY & ~UNDEF & ~FUN

/** A shape as data: kinds by letters, members and items below. */
interface Plain {
  kinds: string
  members?: Record<string, Plain>
  items?: Plain
  rest?: Plain
  values?: readonly string[]
  by?: string
  branches?: string[]
}

const LETTERS: [number, string][] = [
  [UNDEF, '?'],
  [NULL, '0'],
  [STR, 's'],
  [NUM, 'n'],
  [BOOL, 'b'],
  [ARR, 'a'],
  [OBJ, 'o'],
  [FUN, 'f'],
]

function plain(shape: Shape, depth = 4): Plain {
  const result: Plain = { kinds: LETTERS.map(([bit, letter]) => (shape.bits & bit ? letter : '')).join('') }
  if (depth === 0) return result
  if (shape.members && shape.members.size > 0)
    result.members = Object.fromEntries([...shape.members].map(([name, item]) => [name, plain(item, depth - 1)]))
  if (shape.items) result.items = plain(shape.items, depth - 1)
  if (shape.rest) result.rest = plain(shape.rest, depth - 1)
  if (shape.values) result.values = shape.values
  if (shape.by) result.by = shape.by
  if (shape.branches) result.branches = [...shape.branches.keys()]
  return result
}

const ANYTHING = '0snbao'

const SHAPES: [name: string, schema: Schema, shape: Plain][] = [
  ['an empty schema', {}, { kinds: ANYTHING }],
  ['anything', true, { kinds: ANYTHING }],
  ['a text', { type: 'string' }, { kinds: 's' }],
  ['an integer', { type: 'integer' }, { kinds: 'n' }],
  ['a text or null', { type: ['string', 'null'] }, { kinds: '0s' }],
  ['an enumeration of texts', { enum: ['a', 'b'] }, { kinds: 's', values: ['a', 'b'] }],
  ['an enumeration with null', { enum: ['a', null, 1] }, { kinds: '0sn' }],
  ['a constant', { const: 'a' }, { kinds: 's', values: ['a'] }],
  ['a list', { type: 'array', items: { type: 'number' } }, { kinds: 'a', items: { kinds: 'n' } }],
  [
    'required and optional members',
    { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
    { kinds: 'o', members: { a: { kinds: 's' }, b: { kinds: '?s' } } },
  ],
  ['members without a type', { properties: { a: { type: 'string' } } }, { kinds: ANYTHING, members: { a: { kinds: '?s' } } }],
  ['members of any name', { type: 'object', additionalProperties: { type: 'boolean' } }, { kinds: 'o', rest: { kinds: '?b' } }],
  ['a reference', { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, { kinds: 's' }],
  ['a reference with more beside it', { $ref: '#/$defs/a', type: 'string', $defs: { a: { type: ['string', 'null'] } } }, { kinds: 's' }],
  ['a reference to nothing', { $ref: '#/$defs/none' }, { kinds: ANYTHING }],
  [
    'one of several types',
    { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    { kinds: 'sa', items: { kinds: 's' } },
  ],
  [
    'one of two lists',
    {
      oneOf: [
        { type: 'array', items: { type: 'string' } },
        { type: 'array', items: { type: 'number' } },
      ],
    },
    { kinds: 'a' },
  ],
  [
    'a member that not every branch has',
    { anyOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'object' }] },
    { kinds: 'o', members: { a: { kinds: `?${ANYTHING}` } } },
  ],
  ['all of several types', { allOf: [{ type: ['string', 'number'] }, { type: ['number', 'null'] }] }, { kinds: 'n' }],
  [
    'a member that is required in allOf',
    { type: 'object', properties: { a: { type: 'string' } }, allOf: [{ properties: { b: { type: 'number' } }, required: ['b'] }] },
    { kinds: 'o', members: { a: { kinds: '?s' }, b: { kinds: 'n' } } },
  ],
  [
    'a condition, which adds nothing',
    {
      type: 'object',
      properties: { a: { type: 'string' } },
      allOf: [{ if: { required: ['a'] }, then: { properties: { a: { const: 'x' } } } }],
    },
    { kinds: 'o', members: { a: { kinds: '?s' } } },
  ],
]

describe('the shape of a schema', () => {
  for (const [name, schema, expected] of SHAPES) {
    test(name, () => expect(plain(shapeOf(new Map([[ID, schema]]), ID))).toEqual(expected))
  }

  test('of a union has the member that names the branch, and the branches', () => {
    const shape = shapeOf(new Map([[ID, { union: { by: 'type', of: OF } }]]), ID)
    expect(shape.bits).toBe(OBJ)
    expect(shape.by).toBe('type')
    expect(plain(shape).members?.type).toEqual({ kinds: 's', values: ['text', 'image'] })
    expect(plain(shape.branches?.get('text') as Shape).members).toEqual({ text: { kinds: 's' } })
    // In one branch a text, in the other a number.
    const text = shape.members?.get('text') as Shape
    expect(text.bits & (STR | NUM)).toBe(STR | NUM)
  })

  test('of an open union allows any text as the name, and any members', () => {
    const shape = shapeOf(new Map([[ID, { union: { by: 'type', of: OF, other: 'open' } }]]), ID)
    expect(plain(shape).members?.type).toEqual({ kinds: 's' })
    expect(plain(shape).members?.url).toEqual({ kinds: `?${ANYTHING}` })
  })

  test('of a union with a default allows an absent name', () => {
    const shape = shapeOf(new Map([[ID, { union: { by: 'type', of: OF, default: 'text' } }]]), ID)
    expect(plain(shape).members?.type?.kinds).toBe('?s')
  })

  test('of branches with a constant has the constants of all branches, or none', () => {
    const schema = {
      anyOf: [
        { type: 'object', properties: { k: { const: 'a' } } },
        { type: 'object', properties: { k: { const: 'b' } } },
      ],
    }
    const member = shapeOf(new Map([[ID, schema]]), ID).members?.get('k') as Shape
    expect(member.values === undefined || (member.values.includes('a') && member.values.includes('b'))).toBe(true)
  })

  test('of a recursive schema is finite', () => {
    const node = {
      type: 'object',
      properties: { child: { $ref: '#/$defs/node' }, list: { type: 'array', items: { $ref: '#/$defs/node' } } },
    }
    const shape = shapeOf(new Map([[ID, { $ref: '#/$defs/node', $defs: { node } }]]), ID)
    expect(shape.members?.get('child')?.bits).toBe(OBJ | UNDEF)
    expect(shape.members?.get('list')?.items?.bits).toBe(OBJ)
  })

  test('follows references to another file', () => {
    const set = new Map<string, Schema>([
      [ID, { properties: { a: { $ref: '../other/request#/$defs/b' } } }],
      [schemaId('other', 'request'), { $defs: { b: { $ref: '#/$defs/c' }, c: { type: 'number' } } }],
    ])
    expect(plain(shapeOf(set, ID)).members).toEqual({ a: { kinds: '?n' } })
  })

  test('of an unknown schema allows anything', () => {
    expect(shapeOf(new Map(), ID).bits).toBe(JSON_VALUE)
  })
})
