// Whatever a name or a text of the data contains, it stays data: generated modules load, do what the interpreter does, and
// execute no text.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { dump } from 'js-yaml'
import { afterEach, describe, expect, test } from 'vitest'
import { both, CONTEXT, play } from './compiled.js'
import { fixture, withDialects } from './fixture.js'

const ATTACK = 'globalThis.pwned=true'

/** Pieces that end a string, a template, a comment or a block in JavaScript, and names that are not like others. */
const PIECES = [
  '"',
  "'",
  '`',
  '\\',
  '*/',
  '/*',
  '//',
  '${',
  '}',
  '\n',
  '\r',
  '\t',
  '\u2028',
  '\u2029',
  '\0',
  '\u007f',
  '\ud83d\ude42',
  'é',
  ';',
  ')',
  '</script>',
  '<!--',
  '$',
  '__proto__',
  'constructor',
  'toString',
  `\${${ATTACK}}`,
  `";${ATTACK};"`,
  `';${ATTACK};'`,
  `\`;${ATTACK};\``,
  `*/${ATTACK}/*`,
  `\n${ATTACK}\n`,
  `\u2028${ATTACK}\u2028`,
  `"+(${ATTACK})+"`,
]

const nasty = fc.array(fc.constantFrom(...PIECES, 'a', ' ', '1'), { minLength: 1, maxLength: 6 }).map(pieces => pieces.join(''))
/** Names of steps are sentences, others may be what they like. */
const names = fc.uniqueArray(nasty, { minLength: 1, maxLength: 4 })

afterEach(() => {
  expect('pwned' in globalThis).toBe(false)
})

/** As the wire has it; the order of members is not looked at. */
const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

/** An expression that gives a text: JSONata's strings are JSON's. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

describe('a mapping with hostile texts', () => {
  test('gives what the interpreter gives, with such tables, literals, keys, reasons, steps and kinds', async () => {
    await fc.assert(
      fc.asyncProperty(names, nasty, nasty, async (list, one, other) => {
        const [first = 'x'] = list
        const mapping = await both(
          {
            title: one,
            tables: { words: Object.fromEntries(list.map(name => [name, other])) },
            define: { wrap: `function($x) { { ${quoted(first)}: $x } }` },
            carry: `{ ${quoted(first)}: ${quoted(other)} }`,
            request: `{
              "literal": ${quoted(one)},
              ${quoted(`key ${first}`)}: ${quoted(other)},
              "looked": [${list.map(name => `$lookup($tables.words, ${quoted(name)})`).join(', ')}],
              "is": text = ${quoted(one)},
              "in": text in [${list.map(quoted).join(', ')}],
              "member": $lookup($, ${quoted(first)}),
              "carried": $lookup($carry, ${quoted(first)}),
              "wrapped": $wrap(${quoted(other)}),
              "replaced": $replace(text, ${quoted(one)}, "-")
            }`,
            stream: {
              state: { text: other, list },
              steps: [
                {
                  name: `one ${one}`,
                  on: [first, `${other}x`],
                  set: `{ "text": ${quoted(one)} }`,
                  emit: `{ "kind": ${quoted(first)}, "text": $state.text, "list": $state.list }`,
                },
                { name: `two ${other}`, when: `text = ${quoted(one)}`, emit: `{ ${quoted(other)}: text }` },
                { name: `end ${first}`, on: 'done', emit: `{ ${quoted(one)}: $state.text }` },
              ],
            },
            fields: { dropped: { text: other }, refused: { n: { when: `text = ${quoted(one)} and n`, why: one } } },
          },
          { eventKind: 'type' },
        )
        const { compiled, interpreted } = mapping
        for (const text of [one, other, ...list]) {
          const input = { text, n: 1, ...Object.fromEntries(list.filter(name => name !== '__proto__').map(name => [name, text])) }
          const carry = compiled.carry?.(input, CONTEXT)
          const mine = compiled.request?.(input, CONTEXT, carry)
          expect(wire(mine)).toEqual(wire(interpreted.request(input, CONTEXT, interpreted.carry(input, CONTEXT))))
          expect(compiled.refused?.(input, CONTEXT)).toEqual(interpreted.refused(input, CONTEXT))
          expect(compiled.dropped?.(input, CONTEXT)).toEqual(interpreted.dropped(input, CONTEXT))
        }
        const [mine, theirs] = play(mapping, [{ type: first, text: one }, { type: `${other}x`, text: other }, { text: one }])
        expect(mine).toEqual(theirs)
      }),
      { numRuns: 60, seed: 1 },
    )
  })

  test('reads a name that every object has only as a member of its own', async () => {
    const inherited = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__']
    const { compiled, interpreted } = await both(
      {
        tables: { words: JSON.parse('{ "__proto__": "p", "constructor": "c", "a": "x" }') as Record<string, string> },
        request: `{ ${inherited.map(name => `"${name.replaceAll('_', '')}": \`${name}\``).join(', ')}, "deep": a.constructor, "ctx": $lookup($ctx, "constructor"),
          "table": [$lookup($tables.words, "__proto__"), $lookup($tables.words, "constructor"), $lookup($tables.words, "toString")],
          "step": a.b.toString, "list": list.constructor, "exists": $exists(constructor), "keys": [$keys($tables.words)] }`,
        fields: { dropped: Object.fromEntries(inherited.filter(name => name !== '__proto__').map(name => [name, 'no'])) },
      },
      {
        schema: {
          type: 'object',
          properties: { a: { type: 'object', properties: { constructor: { type: 'string' } }, additionalProperties: true } },
          additionalProperties: true,
        },
      },
    )
    for (const input of [
      {},
      { a: { b: {} }, list: [{}, {}] },
      JSON.parse('{ "__proto__": "mine", "constructor": "mine", "a": { "constructor": "mine" } }'),
    ] as Record<string, unknown>[]) {
      expect(wire(compiled.request?.(input, CONTEXT, undefined)), JSON.stringify(input)).toEqual(
        wire(interpreted.request(input, CONTEXT, undefined)),
      )
      expect(compiled.dropped?.(input, CONTEXT), JSON.stringify(input)).toEqual(interpreted.dropped(input, CONTEXT))
    }
  })

  test('may have such names in its state', async () => {
    const state = JSON.parse('{ "__proto__": "p", "constructor": null, "n": 1 }') as Record<string, unknown>
    const mapping = await both({
      stream: {
        state,
        steps: [
          {
            name: 'set',
            when: 'x',
            set: '{ "constructor": x }',
            emit: '{ "was": $was.constructor, "is": $state.constructor, "n": $state.n }',
          },
        ],
      },
    })
    const [mine, theirs] = play(mapping, [{}, { x: 1 }, { x: 'b' }])
    expect((mine as unknown[]).slice(0, -1)).toEqual((theirs as unknown[]).slice(0, -1))
    expect(Object.getPrototypeOf(mapping.compiled.start?.())).toBe(Object.prototype)
  })

  test('may name functions and variables like words of JavaScript', async () => {
    const words = [
      'class',
      'function',
      'return',
      'await',
      'this',
      'null',
      'undefined',
      'arguments',
      'eval',
      'import',
      'request',
      'input',
      'event',
      'out',
      'isArray',
      'truthy',
      'lookup',
    ]
    const { compiled, interpreted } = await both({
      define: Object.fromEntries(words.map(word => [word, `function($x) { $x & "${word}" }`])),
      request: `( ${words.map(word => `$${word}_2 := $${word}("a")`).join('; ')}; [${words.map(word => `$${word}_2`).join(', ')}] )`,
      stream: { let: { class: 'a', new: '$class', delete: '$class & "x"' }, steps: [{ name: 'x', emit: '{ "a": $new, "b": $delete }' }] },
    })
    expect(wire(compiled.request?.({}, CONTEXT, undefined))).toEqual(wire(interpreted.request({}, CONTEXT, undefined)))
    const [mine, theirs] = play({ compiled, interpreted }, [{ a: 1 }])
    expect(mine).toEqual(theirs)
  })
})

describe('a project with hostile texts', () => {
  test('keeps them unchanged in formats, providers and routes', async () => {
    const text = PIECES.filter(piece => !/[\0\u007f]/.test(piece)).join(' ')
    const line = text.replaceAll(/[\n\r\t\u2028\u2029\0\u007f]/g, ' ')
    const data = withDialects(fixture('small'))
    const traits = JSON.parse(`{ "words": { "__proto__": ${JSON.stringify(text)}, "constructor": "c" } }`) as Record<string, unknown>
    data.write(
      'providers/strange.yaml',
      dump({
        title: text,
        source: text,
        base: 'http://example.com',
        credential: { header: 'x-key', prefix: line },
        headers: { 'x-strange': line },
        traits,
        speaks: { tiny: { path: "/it's/$`/x", query: { __proto__x: text, [text]: text } } },
      }),
    )
    data.write(
      'schemas/typed/format.yaml',
      dump({
        title: text,
        source: text,
        response: 'json',
        stream: {
          flag: 'body.stream',
          framing: 'sse',
          sentinel: line,
          keep_alive: `${text}\n`,
          watch: { fail: { marker: [text], when: `a = ${quoted(text)}` } },
        },
        error: { like: 'chat', kinds: undefined },
      }),
    )
    data.write(
      'routes/strange.yaml',
      dump({
        name: 'strange',
        method: 'GET',
        path: "/it's/$&;",
        when: { query: { [text]: text } },
        auth: [],
        dialect: 'chat',
        answer: `{ ${quoted(text)}: ${quoted(text)} }`,
      }),
    )
    const plan = await data.plan()
    const provider = plan.providers.strange
    expect(provider?.title).toBe(text)
    expect(provider?.credential.prefix).toBe(line)
    expect(provider?.headers).toEqual({ 'x-strange': line })
    expect(JSON.stringify(provider?.traits)).toBe(JSON.stringify(traits))
    expect(provider?.speaks.tiny?.query?.[text]).toBe(text)
    expect(plan.dialects.typed?.stream?.keepAlive).toBe(`${text}\n`)
    expect(plan.dialects.typed?.stream?.sentinel).toBe(line)
    expect(plan.dialects.typed?.stream?.fail?.markers).toEqual([text])
    expect(plan.dialects.typed?.stream?.fail?.read({ a: text })).toBe(true)
    const route = plan.routes.find(({ name }) => name === 'strange')
    expect(route?.when?.query?.[text]).toBe(text)
    expect(route?.answer?.({ models: [], query: {}, path: {}, now: 0 })).toEqual({ [text]: text })
  })

  test('distinguishes names that give the same identifier', async () => {
    const data = withDialects(fixture('small'))
    for (const [name, path] of [
      ['a.b', '/one'],
      ['a_b', '/two'],
      ['a-b', '/three'],
    ])
      data.write(
        `routes/${name}.yaml`,
        `name: ${name}\nmethod: GET\npath: ${path}\nauth: []\ndialect: chat\nanswer: '{ "name": "${name}" }'\n`,
      )
    const plan = await data.plan()
    const answers = plan.routes
      .filter(({ answer }) => answer !== undefined)
      .map(({ name, answer }) => [name, answer?.({ models: [], query: {}, path: {}, now: 0 })])
    expect(Object.fromEntries(answers)).toEqual({ 'a.b': { name: 'a.b' }, a_b: { name: 'a_b' }, 'a-b': { name: 'a-b' } })
  })

  const FOLDERS = [
    "schemas/it's/format.yaml",
    'schemas/a b/format.yaml',
    'schemas/a`${pwned}/format.yaml',
    'providers/__proto__.yaml',
    "providers/it's.yaml",
  ]
  for (const path of FOLDERS) {
    test(`reports ${path} as no name, or keeps its name as data`, async () => {
      const data = withDialects(fixture('small'))
      mkdirSync(join(data.folder, path, '..'), { recursive: true })
      writeFileSync(
        join(data.folder, path),
        path.startsWith('schemas')
          ? 'title: X\nresponse: json\nerror: chat\n'
          : 'title: X\nbase: http://example.com\ncredential: { header: x }\nspeaks: { chat: /x }\n',
      )
      const found = data.findings()
      if (found.length > 0) expect(found.map(({ position }) => position)).toEqual([`${path}:1:1`])
      else {
        const plan = await data.plan()
        const name = path.split('/')[1]?.replace('.yaml', '') ?? ''
        expect(Object.keys(path.startsWith('schemas') ? plan.dialects : plan.providers)).toContain(name)
      }
    })
  }
})
