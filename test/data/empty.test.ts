// A member that is empty says nothing: it is neither named as dropped nor refused. An empty object that turns something on says
// something: such members are listed here.

import { describe, expect, test } from 'vitest'
import { type FieldNode, fieldsOf } from '../../codegen/check/ledger.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context } from '../../engine/plan.js'
import { CONTEXT, hasSchema, plan, project, seen, wrong } from '../properties/plan.js'

const ctx: Context = { ...CONTEXT, traits: {} }
const turn = { role: 'user', content: 'Hi' }

/** A request with nothing but what the dialect requires. */
const REQUESTS: Readonly<Record<string, Body>> = {
  chat: { model: 'm', messages: [turn] },
  completions: { model: 'm', prompt: 'Hi' },
  messages: { model: 'm', max_tokens: 100, messages: [turn] },
  responses: { model: 'm', input: [turn] },
  generate: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  ollama: { model: 'm', messages: [turn] },
  ollama_generate: { model: 'm', prompt: 'Hi' },
  embeddings: { model: 'm', input: 'Hi' },
  embed_content: { content: { parts: [{ text: 'Hi' }] } },
  ollama_embed: { model: 'm', input: 'Hi' },
  ollama_embeddings: { model: 'm', prompt: 'Hi' },
  rerank: { model: 'm', query: 'a', documents: ['b'] },
  images: { model: 'm', prompt: 'a cat' },
  video: { model: 'm', prompt: 'a cat' },
  video_generations: { model: 'm', prompt: 'a cat' },
}

/** What an empty value says, if it says something. */
const SAYS: Readonly<Record<string, string>> = {
  'chat web_search_options {}': 'the model may search',
  'chat moderation {}': 'input and output are moderated as usual',
  'responses moderation {}': 'input and output are moderated as usual',
  'messages compaction {}': 'a long conversation is made shorter as usual',
  'messages diagnostics {}': 'diagnostics are requested',
  'ollama_generate options.stop ""': 'each answer ends at once',
  'ollama options.stop ""': 'each answer ends at once',
  // The request must have one, and the provider accepts none without content.
  'completions prompt ""': 'an empty text is continued',
  'ollama_generate prompt ""': 'the model is only loaded',
  'ollama_embeddings prompt ""': 'an empty text is embedded',
  'ollama_embed input ""': 'an empty text is embedded',
  'ollama_embed input []': 'nothing is embedded',
  'video input_reference {}': 'a picture without content',
  'video_generations image ""': 'a picture without an address',
}

interface Empty {
  path: string
  value: unknown
  body: Body
}

/** Objects that only group the members of a request. */
const GROUPS: readonly string[] = ['generationConfig', 'options']

/** The request with an empty value in each of its members. */
function* emptied(body: Body, fields: readonly FieldNode[]): Generator<Empty> {
  for (const { name, path, members } of fields) {
    for (const value of ['', [], {}]) yield { path, value, body: { ...body, [name]: value } }
    if (!GROUPS.includes(name)) continue
    const held = Object(body[name]) as Body
    for (const inner of emptied(held, members)) yield { ...inner, body: { ...body, [name]: inner.body } }
  }
}

const pairs = Object.entries(plan.mappings).flatMap(([pair, mapping]) => {
  const request = REQUESTS[mapping.from]
  return request && mapping.request && hasSchema(mapping.from, 'request') ? [{ pair, mapping, request }] : []
})

describe.each(pairs)('$pair', ({ mapping, request }) => {
  const { from } = mapping
  const lostOf = (raw: Body): { refused: string | undefined; told: readonly string[] } => {
    const body = seen(from, raw)
    const refused = mapping.refused?.(body, ctx)?.param
    if (refused !== undefined) return { refused, told: [] }
    const sent = mapping.request?.(body, ctx, mapping.carry?.(body, ctx))
    return { refused, told: mapping.dropped?.(body, ctx, sent) ?? [] }
  }

  test('an empty member is neither told nor refused', () => {
    const before = lostOf(request)
    const fields = fieldsOf(project.schemas, schemaId(from, 'request')).filter(({ name }) => name !== 'model')
    const lost = [...emptied(request, fields)]
      .filter(({ path, value, body }) => {
        const name = `${from} ${path.replace(/(\[\])+$/, '')} ${JSON.stringify(value)}`
        return !(name in SAYS) && wrong(from, 'request', body) === undefined
      })
      .flatMap(({ path, value, body }) => {
        const { refused, told } = lostOf(body)
        const lost = [...(refused === before.refused ? [] : [refused]), ...told.filter(one => !before.told.includes(one))]
        return lost.map(one => `${path} ${JSON.stringify(value)}: ${one}`)
      })
    expect(lost).toEqual([])
  })
})

test.each<[string, Body, string]>([
  ['chat-to-ollama', { web_search_options: {} }, 'web_search_options'],
  ['chat-to-messages', { moderation: {} }, 'moderation'],
  ['responses-to-chat', { moderation: {} }, 'moderation'],
  ['messages-to-chat', { compaction: {} }, 'compaction'],
  ['messages-to-responses', { tools: [{ name: 'f', input_schema: {}, input_examples: [{}] }] }, 'tools[].input_examples[]'],
  ['generate-to-chat', { contents: [{ role: 'model', parts: [{ executableCode: {} }] }] }, 'contents[].parts[].executableCode'],
])('%s tells %j', (pair, more, path) => {
  const mapping = plan.mappings[pair]
  const body = seen(mapping?.from as string, { ...REQUESTS[mapping?.from as string], ...more })
  const sent = mapping?.request?.(body, ctx, mapping.carry?.(body, ctx))
  expect(mapping?.dropped?.(body, ctx, sent)).toContain(path)
})

test.each(['codeExecution', 'urlContext', 'googleMaps', 'fileSearch', 'enterpriseWebSearch'])(
  'a tool that %s turns on is refused',
  name => {
    const body = seen('generate', { ...REQUESTS.generate, tools: [{ [name]: {} }] })
    expect(plan.mappings['generate-to-chat']?.refused?.(body, ctx)?.param).toBe(`tools[].${name}`)
  },
)
