// The gateway's output has the official clients' own types: every required member is present, unknown values are `null`, and
// no member has another type. Their compiler checks that: each answer, event and list is written as a constant of its type.
// The types of @google/genai require nothing, and have enumerations instead of texts.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { compilerSays } from '../compiler.js'
import { KEY, startGateway, startSimulator } from '../harness.js'
import { type Dialect, lanesFor, modelOf, type Stage, startStage } from './gateway.js'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.close())

const NAMES = [
  'sim',
  'sim-tools',
  'sim-parallel',
  'sim-reasoning',
  'sim-reasoning-tools',
  'sim-length',
  'sim-filter',
  'sim-cached',
  'sim-json',
]
const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city', 'days'] }

/** How a client of a dialect asks, and what it takes the answer and each event for. */
const CLIENTS: Readonly<Partial<Record<Dialect, { path: string; body(model: string): object; whole: string; event: string }>>> = {
  chat: {
    path: '/v1/chat/completions',
    body: model => ({
      model,
      messages: [{ role: 'user', content: 'Hi' }],
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
    }),
    whole: 'OpenAI.ChatCompletion',
    event: 'OpenAI.ChatCompletionChunk',
  },
  completions: {
    path: '/v1/completions',
    body: model => ({ model, prompt: 'Hi' }),
    whole: 'OpenAI.Completion',
    event: 'OpenAI.Completion',
  },
  responses: {
    path: '/v1/responses',
    body: model => ({ model, input: 'Hi', store: false, tools: [{ type: 'function', name: 'get_weather', parameters, strict: false }] }),
    whole: 'OpenAI.Responses.Response',
    event: 'OpenAI.Responses.ResponseStreamEvent',
  },
  messages: {
    path: '/v1/messages',
    body: model => ({
      model,
      max_tokens: 4000,
      messages: [{ role: 'user', content: 'Hi' }],
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tools: [{ name: 'get_weather', input_schema: parameters }],
    }),
    whole: 'Anthropic.Message',
    event: 'Anthropic.RawMessageStreamEvent',
  },
}

/** Members in addition to the official ones, by type; clients ignore them, or know them from other gateways. */
const OURS: Readonly<Record<string, readonly string[]>> = {
  // How reasoning goes there and back where the dialect has no place for it.
  'OpenAI.ChatCompletion': ['reasoning_content', 'thinking_blocks', 'extra_content'],
  'OpenAI.ChatCompletionChunk': ['reasoning_content', 'thinking_blocks', 'extra_content'],
  // The official API says it, its types do not.
  'OpenAI.Responses.Response': ['store', 'max_tool_calls'],
  'OpenAI.Responses.ResponseStreamEvent': ['store', 'max_tool_calls'],
  // The types of what is tried out know them.
  'Anthropic.Message': ['context_management', 'fallback_credit', 'iterations'],
  'Anthropic.RawMessageStreamEvent': ['context_management', 'fallback_credit', 'iterations', 'estimated_tokens'],
  'OpenAI.Model': ['display_name', 'limits', 'price'],
  'Anthropic.ModelInfo': ['owned_by', 'limits', 'price'],
}

interface Claim {
  type: string
  value: unknown
  from: string
}

async function ask(path: string, body?: object, headers: Record<string, string> = {}, url = stage.url): Promise<string> {
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${answer.status} ${text}`)
  return text
}

const eventsIn = (text: string): unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data]) => data as string)
    // Pings are in no type.
    .filter(data => data !== '[DONE]' && data !== '{"type":"ping"}')
    .map(data => JSON.parse(data))

/** One of each shape: what differs in its texts and numbers alone is the same to a type. Words of enumerations stay. */
function shapeOf(value: unknown): unknown {
  if (typeof value === 'number') return 0
  if (typeof value === 'string') return /^[a-z_.]+$/.test(value) ? value : ''
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]))
}

/** A value without the members that are ours alone. */
function official(value: unknown, ours: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map(item => official(item, ours))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    // The SDK adds this one to what it has read.
    Object.entries('object' in value && value.object === 'response' ? { ...value, output_text: '' } : value)
      .filter(([name]) => !ours.includes(name))
      .map(([name, item]) => [name, official(item, ours)]),
  )
}

/** A value as source text. The official APIs send `null` for unknown values, also if their types say absent. */
const source = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(source).join(', ')}]`
    : typeof value === 'object' && value !== null
      ? `{ ${Object.entries(value)
          .map(([name, item]) => `${JSON.stringify(name)}: ${source(item)}`)
          .join(', ')} }`
      : value === null
        ? '(null as any)'
        : JSON.stringify(value)

/** What the compiler says of claims, by where they came from. */
async function wrong(claims: readonly Claim[]): Promise<string[]> {
  const seen = new Set<string>()
  const kept = claims
    .map(claim => ({ ...claim, value: official(claim.value, OURS[claim.type] ?? []) }))
    .filter(({ type, value }) => {
      const key = type + JSON.stringify(shapeOf(value))
      return !seen.has(key) && seen.add(key)
    })
  const head = "import type OpenAI from 'openai'; import type Anthropic from '@anthropic-ai/sdk'"
  const lines = kept.map(({ type, value }, index) => `export const a${index}: ${type} = ${source(value)}`)
  return (await compilerSays([head, ...lines].join('\n'))).map(({ line, text }) => {
    const claim = kept[line - 2]
    return claim ? `${claim.from}: ${text}\n  ${JSON.stringify(claim.value)}` : text
  })
}

test.each(Object.keys(CLIENTS) as Dialect[])('answers and events of every translated pair to a %s client', async dialect => {
  const { path, body, whole, event } = CLIENTS[dialect] as NonNullable<(typeof CLIENTS)[Dialect]>
  const claims: Claim[] = []
  for (const lane of lanesFor(dialect).filter(({ isNative }) => !isNative)) {
    for (const name of NAMES) {
      const request = body(modelOf(lane, name))
      const from = `${lane.name}, ${name}`
      claims.push({ type: whole, value: JSON.parse(await ask(path, { ...request, stream: undefined, stream_options: undefined })), from })
      for (const value of eventsIn(await ask(path, { ...request, stream: true })))
        claims.push({ type: event, value, from: `${from}, streamed` })
    }
  }
  expect(await wrong(claims)).toEqual([])
})

test('lists of models', async () => {
  const claims: Claim[] = []
  const version = { 'anthropic-version': '2023-06-01' }
  for (const [type, headers] of [
    ['OpenAI.Model', {}],
    ['Anthropic.ModelInfo', version],
  ] as const) {
    const { data } = JSON.parse(await ask('/v1/models', undefined, headers)) as { data: { id: string }[] }
    expect(data.length).toBeGreaterThan(10)
    for (const value of data) claims.push({ type, value, from: 'a list' })
    const one = JSON.parse(await ask(`/v1/models/${encodeURIComponent(data[0]?.id as string)}`, undefined, headers))
    claims.push({ type, value: one, from: 'one model' })
  }
  expect(await wrong(claims)).toEqual([])
})

test('what is tried out of messages', async () => {
  const claims: Claim[] = []
  const { path, body } = CLIENTS.messages as NonNullable<(typeof CLIENTS)[Dialect]>
  for (const lane of lanesFor('messages').filter(({ isNative }) => !isNative)) {
    const request = body(modelOf(lane, 'sim-reasoning-tools'))
    const from = `${lane.name}, beta`
    claims.push({ type: 'Anthropic.Beta.BetaMessage', value: JSON.parse(await ask(`${path}?beta=true`, request)), from })
    for (const value of eventsIn(await ask(`${path}?beta=true`, { ...request, stream: true })))
      claims.push({ type: 'Anthropic.Beta.BetaRawMessageStreamEvent', value, from: `${from}, streamed` })
    const count = await ask('/v1/messages/count_tokens', {
      model: 'model' in request ? request.model : undefined,
      messages: 'messages' in request ? request.messages : undefined,
    })
    claims.push({ type: 'Anthropic.MessageTokensCount', value: JSON.parse(count), from: `${lane.name}, a count` })
  }
  expect(await wrong(claims)).toEqual([])
})

test('vectors, images and videos of providers of other dialects', async () => {
  const claims: Claim[] = []
  const simulator = await startSimulator()
  const upstream = (provider: string, secret = 'x'): object => ({ provider, base: simulator.url, secret })
  const providers = { gemini: upstream('gemini'), cohere: upstream('cohere'), kling: upstream('kling', 'a:b'), jimeng: upstream('jimeng') }
  const gateway = await startGateway({
    upstreams: providers,
    models: Object.fromEntries(Object.keys(providers).map(name => [name, { targets: [{ upstream: name, model: 'sim' }] }])),
  })
  try {
    const claim = async (type: string, from: string, path: string, body?: object): Promise<{ id?: string }> => {
      const value = JSON.parse(await ask(path, body, {}, gateway.url))
      claims.push({ type, value, from })
      return value
    }
    for (const model of ['gemini', 'cohere'])
      await claim('OpenAI.CreateEmbeddingResponse', `vectors of ${model}`, '/v1/embeddings', {
        model,
        input: ['a', 'b'],
        encoding_format: 'float',
      })
    const drawing = { model: 'gemini', prompt: 'A cat' }
    await claim('OpenAI.ImagesResponse', 'images', '/v1/images/generations', drawing)
    for (const value of eventsIn(await ask('/v1/images/generations', { ...drawing, stream: true }, {}, gateway.url)))
      claims.push({ type: 'OpenAI.ImageGenStreamEvent', value, from: 'images, streamed' })
    for (const model of ['kling', 'jimeng']) {
      const { id } = await claim('OpenAI.Videos.Video', `a video of ${model}`, '/v1/videos', { model, prompt: 'A cat', seconds: '8' })
      for (const look of [1, 2, 3]) await claim('OpenAI.Videos.Video', `a video of ${model}, asked for ${look} times`, `/v1/videos/${id}`)
    }
  } finally {
    await gateway.close()
    await simulator.close()
  }
  expect(await wrong(claims)).toEqual([])
})

test('errors', async () => {
  const claims: Claim[] = []
  for (const [dialect, type, pick] of [
    ['chat', 'OpenAI.ErrorObject', (body: { error: unknown }) => body.error],
    ['responses', 'OpenAI.ErrorObject', (body: { error: unknown }) => body.error],
    ['messages', 'Anthropic.ErrorResponse', (body: unknown) => body],
  ] as const) {
    const { path, body } = CLIENTS[dialect] as NonNullable<(typeof CLIENTS)[Dialect]>
    for (const lane of lanesFor(dialect))
      for (const name of ['sim-status-400', 'sim-status-401', 'sim-status-429-retry-7', 'sim-status-500', 'sim-html']) {
        const answer = await fetch(stage.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...body(modelOf(lane, name)), stream_options: undefined }),
        })
        claims.push({ type, value: pick((await answer.json()) as never), from: `${lane.name}, ${name}` })
      }
  }
  expect(await wrong(claims)).toEqual([])
})

test('what is missing, and what has another type, is found', async () => {
  const found = await wrong([
    { type: 'OpenAI.Model', value: { id: 'm', object: 'model', created: 1, owned_by: 'x' }, from: 'right' },
    { type: 'OpenAI.Model', value: { id: 'm', object: 'model', created: '1', owned_by: 'x' }, from: 'wrong type' },
    { type: 'OpenAI.Model', value: { id: 'm', object: 'model', created: 1 }, from: 'missing' },
    { type: 'OpenAI.Model', value: { id: 'm', object: 'model', created: 1, owned_by: 'x', more: 1 }, from: 'too much' },
  ])
  expect(found.map(text => text.split(':')[0])).toEqual(['wrong type', 'missing', 'too much'])
})
