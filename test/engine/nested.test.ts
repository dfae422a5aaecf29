// JSON that is nested too deeply is refused, in every member and dialect, since recursive code would run out of stack.
// JSON of the maximum depth is served.

import { describe, expect, test } from 'vitest'
import { DEEPEST } from '../../engine/wire/json/depth.js'
import { type Dialect, dialects } from './dialects.js'
import { ask, type Stage, setUp } from './fake-upstreams.js'
import { json } from './upstream.js'

const { chat, messages, responses, generate } = dialects

/** A JSON text of so many levels. */
const objects = (levels: number): string => `${'{"properties":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

/** Members with the application's own JSON, or with unknown content, and their depth. */
const MEMBERS: [string, Dialect, string, number][] = [
  ['chat: a schema', chat, '"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":◆}}}}]', 6],
  ['chat: an unknown member', chat, '"more":◆', 1],
  ['messages: a schema', messages, '"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":◆}}}]', 5],
  [
    'responses: a schema',
    responses,
    '"tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{"a":◆}}}]',
    5,
  ],
  [
    'generate: a schema',
    generate,
    '"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":◆}}}]}]',
    7,
  ],
  ['generate: a schema of its own', generate, '"tools":[{"functionDeclarations":[{"name":"f","parameters":◆}]}]', 5],
]

const provided = new Map<string, Promise<Stage>>()
/** The upstream says what its dialect says; it may speak a client's, too. */
const answerTo = (request: string, upstream: Dialect): unknown =>
  request.startsWith('POST /v1/responses') ? dialects.responses.answer : upstream.answer

const stageOf = (upstream: Dialect): Promise<Stage> => {
  const stage =
    provided.get(upstream.name) ?? setUp([(socket, { text }) => json(socket, 200, answerTo(text, upstream))], {}, upstream.provider)
  provided.set(upstream.name, stage)
  return stage
}

const bodyOf = (dialect: Dialect, member: string, value: string): string =>
  `${JSON.stringify(dialect.body(false)).slice(0, -1)},${member.replace('◆', value)}}`

const UPSTREAMS = [chat, messages, generate]

describe.each(MEMBERS)('%s', (_name, client, member, depth) => {
  describe.each(UPSTREAMS.map((upstream): [string, Dialect] => [upstream.name, upstream]))('to %s', (_upstream, upstream) => {
    const long = ` ${' '.repeat(70_000)}`

    test.each([
      ['whole', ''],
      ['in outline', long],
    ])('a value that is nested too deeply is refused, %s', async (_kind, space) => {
      const { gateway, upstreams } = await stageOf(upstream)
      const before = upstreams[0]?.requests.length
      for (const value of [objects(5000), lists(5000), lists(25_000), objects(200_000), objects(DEEPEST - depth + 1)]) {
        const response = await ask(gateway, { dialect: client, body: bodyOf(client, member, value) + space })
        const told = client.messageOf(await response.json())
        expect({ status: response.status, told }).toEqual({
          status: 400,
          told: expect.stringMatching(`more than ${DEEPEST} levels deep|expected object`),
        })
      }
      expect(upstreams[0]?.requests.length).toBe(before)
    })

    test.each([
      ['whole', ''],
      ['in outline', long],
    ])('a value with the greatest depth passes, %s', async (_kind, space) => {
      const { gateway } = await stageOf(upstream)
      const response = await ask(gateway, { dialect: client, body: bodyOf(client, member, objects(DEEPEST - depth)) + space })
      const body = await response.json()
      // Another dialect may have no such member, which the message then names.
      expect([200, 400]).toContain(response.status)
      if (response.status === 400) expect(client.messageOf(body)).toMatch(/Unsupported parameter|Invalid/)
    })
  })
})

describe.each(UPSTREAMS.map((upstream): [string, Dialect] => [upstream.name, upstream]))(
  'arguments that are a text, to %s',
  (_name, upstream) => {
    test.each([
      ['nested too deeply', objects(5000), upstream === chat ? 200 : 400],
      ['with the greatest depth', objects(DEEPEST), 200],
    ])('%s', async (_kind, args, status) => {
      const { gateway } = await stageOf(upstream)
      const body = {
        model: 'm',
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: args } }] },
          { role: 'tool', tool_call_id: 'c1', content: 'y' },
        ],
        tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      }
      const response = await ask(gateway, { body: JSON.stringify(body) })
      expect({ status: response.status, text: status === 400 && chat.messageOf(await response.json()) }).toEqual({
        status,
        text: status === 400 && 'The request is nested too deeply to be translated.',
      })
    })
  },
)
