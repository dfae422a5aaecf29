// The official Gemini client with every provider: what the common table does not cover.

import { ApiError, type CallableTool, type Content, type GenerateContentResponse, GoogleGenAI, type Part, Type } from '@google/genai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partsOf, textOf } from './conversation.js'
import { CALLS, PARAMETERS, SIGNATURE, TEXT, THOUGHT } from './facts.js'
import { DECLARED, failureOf, KEYS, lanesFor, modelOf, PNG, type Stage, startStage } from './gateway.js'
import { generate } from './sdks/generate.js'
import { table } from './table.js'

let stage: Stage
let client: GoogleGenAI

beforeAll(async () => {
  stage = await startStage()
  client = clientWith(KEYS.good)
})
afterAll(() => stage?.close())

const clientWith = (apiKey: string, apiVersion?: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey, apiVersion, httpOptions: { baseUrl: stage.url, retryOptions: { attempts: 1 } } })

/** The paths that the client asks of Vertex AI. */
const ofVertex = (apiKey: string, apiVersion?: string): GoogleGenAI =>
  new GoogleGenAI({ vertexai: true, apiKey, apiVersion, httpOptions: { baseUrl: stage.url, retryOptions: { attempts: 1 } } })

const weather = { name: 'get_weather', description: 'The weather of a place', parametersJsonSchema: PARAMETERS }
const tools = [{ functionDeclarations: [weather] }]
const thinkingConfig = { includeThoughts: true, thinkingBudget: 2048 }

table(generate, () => stage)

describe.each(lanesFor('generate'))('a generate client on $name', lane => {
  const model = (name: string): string => modelOf(lane, name)
  const eventsOf = async (name: string, config: object = {}, contents: Content[] | string = 'Hello') => {
    const events: GenerateContentResponse[] = []
    for await (const event of await client.models.generateContentStream({ model: model(name), contents, config })) events.push(event)
    return events
  }

  /** The bytes of a stream. */
  const streamed = async (name: string, query = '?alt=sse', config: object = {}): Promise<string> => {
    const response = await fetch(`${stage.url}/v1beta/models/${model(name)}:streamGenerateContent${query}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': KEYS.good, 'content-type': 'application/json' },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], tools, ...config }),
    })
    return response.text()
  }

  test.each(['sim', 'sim-tools', 'sim-reasoning', 'sim-alive'])(
    'G1, G2, G3: the stream of %s is lines of data and nothing else',
    async name => {
      const text = await streamed(name)
      // A native provider's own lines may end otherwise; what the gateway writes may not.
      if (!lane.isNative) expect(text.replaceAll(/data: \{.*\}\n\n/g, '')).toBe('')
      expect(text).not.toContain('[DONE]')
      expect(text).toMatch(/\r?\n\r?\n$/)
    },
  )

  test('without alt=sse the same events are the elements of one array', async () => {
    const events = JSON.parse(await streamed('sim', '')) as GenerateContentResponse[]
    expect(events.map(event => event.candidates?.[0]?.content?.parts?.[0]?.text ?? '').join('')).toBe(TEXT)
  })

  test.each(['sim', 'sim-empty', 'sim-parallel', 'sim-reasoning', 'sim-length'])(
    'G5, G9: every event of %s has parts, and the last one the reason and the tokens',
    async name => {
      const events = await eventsOf(name, { tools })
      for (const event of events) expect(event.candidates?.[0]?.content).toMatchObject({ role: 'model', parts: expect.any(Array) })
      expect(events.map(event => event.candidates?.[0]?.finishReason).filter(Boolean)).toHaveLength(1)
      expect(events.at(-1)).toMatchObject({
        candidates: [{ finishReason: name === 'sim-length' ? 'MAX_TOKENS' : 'STOP' }],
        usageMetadata: { promptTokenCount: 12, totalTokenCount: expect.any(Number) },
        responseId: expect.any(String),
        modelVersion: expect.any(String),
      })
    },
  )

  test('the total of tokens is the sum of its parts', async () => {
    const { usageMetadata: usage } = await client.models.generateContent({ model: model('sim-cached-reasoning'), contents: 'Hello' })
    expect(usage?.totalTokenCount).toBe(100 + (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0))
    expect(usage).toMatchObject({ cachedContentTokenCount: 80, thoughtsTokenCount: 10, candidatesTokenCount: 14 })
  })

  test('X17: calls end with STOP, and have ids of their own', async () => {
    const answer = await client.models.generateContent({ model: model('sim-parallel'), contents: 'Hello', config: { tools } })
    expect(answer.candidates?.[0]?.finishReason).toBe('STOP')
    expect(answer.functionCalls).toMatchObject(CALLS.map(args => ({ name: 'get_weather', args })))
    expect(new Set(answer.functionCalls?.map(call => call.id)).size).toBe(2)
  })

  test('calls without ids are answered in their order', async () => {
    const call = (city: string): Part => ({ functionCall: { name: 'get_weather', args: { city, days: 1 } } })
    const result = (output: string): Part => ({ functionResponse: { name: 'get_weather', response: { output } } })
    const contents: Content[] = [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'model', parts: [call('A'), call('B')] },
      { role: 'user', parts: [result('rain in A'), result('sun in B')] },
    ]
    const answer = await client.models.generateContent({ model: model('sim-tools'), contents, config: { tools } })
    expect(answer.text).toBe('The tools answered: rain in A | sun in B')
    const heard = stage.heard(lane)
    const given = new Map(partsOf(heard, 'result').map(part => [part.id, part.text]))
    if (!lane.isNative) {
      expect(partsOf(heard, 'call').map(part => [part.input, given.get(part.id)])).toEqual([
        [{ city: 'A', days: 1 }, 'rain in A'],
        [{ city: 'B', days: 1 }, 'sun in B'],
      ])
    }
  })

  test('functions are called by the client itself until there is an answer', async () => {
    const seen: unknown[] = []
    const tool: CallableTool = {
      tool: async () => ({ functionDeclarations: [weather] }),
      callTool: async calls =>
        calls.map(({ id, name, args }) => {
          seen.push(args)
          return { functionResponse: { ...(id && { id }), name, response: { output: `sunny-${seen.length}` } } }
        }),
    }
    const whole = await client.models.generateContent({ model: model('sim-parallel'), contents: 'Hello', config: { tools: [tool] } })
    expect(whole.text).toBe('The tools answered: sunny-1 | sunny-2')
    expect(seen).toEqual(CALLS)
    expect(whole.automaticFunctionCallingHistory).toHaveLength(3)
    seen.length = 0
    const text: string[] = []
    const asked = { model: model('sim-tools'), contents: 'Hello', config: { tools: [tool] } }
    for await (const event of await client.models.generateContentStream(asked)) text.push(event.text ?? '')
    expect(text.join('')).toBe('The tools answered: sunny-1')
    expect(seen).toEqual([CALLS[0]])
    expect(stage.heard(lane).turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
  })

  test('G5: a chat keeps its history, of answers and of streams', async () => {
    const chat = client.chats.create({ model: model('sim-reasoning'), config: { thinkingConfig, systemInstruction: 'Be brief.' } })
    await chat.sendMessage({ message: 'Hello' })
    const text: string[] = []
    for await (const event of await chat.sendMessageStream({ message: ['And?', { inlineData: { mimeType: 'image/png', data: PNG } }] }))
      text.push(event.text ?? '')
    expect(text.join('')).toBe(TEXT)
    expect((await chat.sendMessage({ message: 'Thanks.' })).text).toBe(TEXT)
    const heard = stage.heard(lane)
    expect(heard.turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
    expect(heard.system).toEqual(['Be brief.'])
    expect(partsOf(heard, 'image').map(part => part.source)).toEqual([PNG])
    // Reasoning is distinguished in the history as well, and does not come back as text.
    if (!lane.isNative) expect(textOf(heard, 'assistant')).not.toContain(THOUGHT)
    expect(textOf(heard, 'assistant').replaceAll('\n', '')).toContain(TEXT)
    expect(chat.getHistory(true).length).toBeGreaterThanOrEqual(6)
  })

  test('G6: thoughts are shown where they are asked for, and signed in any case', async () => {
    const shown = await client.models.generateContent({
      model: model('sim-reasoning-tools'),
      contents: 'Hello',
      config: { tools, thinkingConfig },
    })
    const parts = shown.candidates?.[0]?.content?.parts ?? []
    expect(parts.filter(part => part.thought).map(part => part.text)).toEqual([THOUGHT])
    const signatures = parts.flatMap(part => part.thoughtSignature ?? [])
    expect(signatures).toHaveLength(1)
    for (const signature of signatures) expect(Buffer.from(signature, 'base64').toString('base64')).toBe(signature)
    const config = { tools, thinkingConfig: { thinkingBudget: 2048 } }
    const hidden = await client.models.generateContent({ model: model('sim-reasoning-tools'), contents: 'Hello', config })
    if (!lane.isNative) expect(hidden.candidates?.[0]?.content?.parts?.filter(part => part.thought)).toEqual([])
    const [call] = hidden.functionCalls ?? []
    const contents: Content[] = [
      { role: 'user', parts: [{ text: 'Hello' }] },
      hidden.candidates?.[0]?.content ?? {},
      { role: 'user', parts: [{ functionResponse: { ...(call?.id && { id: call.id }), name: 'get_weather', response: { output: 'x' } } }] },
    ]
    await client.models.generateContent({ model: model('sim'), contents, config })
    expect(partsOf(stage.heard(lane), 'thinking').flatMap(part => part.signature ?? [])).toEqual([SIGNATURE])
  })

  test('a level asks for reasoning as a budget does', async () => {
    const config = { thinkingConfig: { includeThoughts: true, thinkingLevel: 'LOW' as never } }
    const { text } = await client.models.generateContent({ model: model('sim-reasoning'), contents: 'Hello', config })
    expect(text).toBe(TEXT)
    expect(stage.heard(lane).reasons).toBe(true)
  })

  test('schemas in the words of this dialect are understood', async () => {
    const schema = {
      type: Type.OBJECT,
      properties: { name: { type: Type.STRING, nullable: true }, list: { type: Type.ARRAY, items: { type: Type.INTEGER } } },
      required: ['name', 'list'],
    }
    const config = { responseMimeType: 'application/json', responseSchema: schema }
    const answer = await client.models.generateContent({ model: model('sim-json'), contents: 'Hello', config })
    expect(JSON.parse(answer.text ?? '')).toMatchObject({ list: expect.any(Array) })
    const declared = [{ functionDeclarations: [{ name: 'get_weather', description: 'Weather', parameters: schema }] }]
    const called = await client.models.generateContent({ model: model('sim-tools'), contents: 'Hello', config: { tools: declared } })
    expect(called.functionCalls?.[0]?.args).toMatchObject({ list: expect.any(Array) })
    if (!lane.isNative)
      expect(stage.heard(lane).tools[0]?.schema).toMatchObject({ type: 'object', properties: { list: { type: 'array' } } })
  })

  test('sampling reaches the provider, or is named as dropped', async () => {
    const config = { temperature: 0.5, topK: 5 }
    const { sdkHttpResponse: response } = await client.models.generateContent({ model: model('sim'), contents: 'Hello', config })
    const dropped = (response?.headers?.['x-sluice-dropped'] ?? '').split(', ')
    const heard = stage.heard(lane)
    if (!lane.isNative) {
      expect(dropped.includes('generationConfig.topK')).toBe(!heard.body.includes('"top_k":5'))
      expect(dropped.includes('generationConfig.temperature')).toBe(!heard.body.includes('"temperature":0.5'))
    }
    const plain = await client.models.generateContent({ model: model('sim'), contents: 'Hello' })
    expect(plain.sdkHttpResponse?.headers?.['x-sluice-dropped']).toBeUndefined()
  })

  test('several answers are refused where the provider gives one', async () => {
    const asked = client.models.generateContent({ model: model('sim'), contents: 'Hello', config: { candidateCount: 2 } })
    if (lane.speaks === 'generate' || lane.speaks === 'chat') {
      expect((await asked).candidates?.length).toBeGreaterThan(0)
      return
    }
    const before = stage.simulator.requests.length
    const failure = await failureOf(asked)
    expect(failure).toMatchObject({ status: 400, message: expect.stringContaining('candidateCount') })
    expect(stage.simulator.requests).toHaveLength(before)
  })

  test('tokens are counted, by the provider or by estimate', async () => {
    const long = 'Hello '.repeat(1000)
    const { totalTokens } = await client.models.countTokens({ model: model('sim'), contents: long })
    expect(totalTokens).toBeGreaterThan(lane.isNative ? 0 : 900)
  })

  test('the loop over a stream may be left', async () => {
    for await (const event of await client.models.generateContentStream({ model: model('sim-64'), contents: 'Hello' }))
      if (event.text) break
    expect((await client.models.generateContent({ model: model('sim'), contents: 'Hello' })).text).toBe(TEXT)
  })
})

describe('whoever the provider is', () => {
  const model = 'openai-chat/sim'
  const ask = (more: object = {}, from = client) => from.models.generateContent({ model, contents: 'Hello', ...more })

  test.each([
    ['a wrong key', () => ask({}, clientWith('nobody')), 401, 'UNAUTHENTICATED', ''],
    ['a disabled key', () => ask({}, clientWith(KEYS.disabled)), 403, 'PERMISSION_DENIED', ''],
    ['an expired key', () => ask({}, clientWith(KEYS.expired)), 403, 'PERMISSION_DENIED', ''],
    [
      'a model that the key may not use',
      () => ask({ model: 'openai-chat/sim-64' }, clientWith(KEYS.limited)),
      403,
      'PERMISSION_DENIED',
      'openai-chat/sim-64',
    ],
    ['an unknown model', () => ask({ model: 'nothing' }), 404, 'NOT_FOUND', 'nothing'],
    [
      'an unknown model of a stream',
      () => client.models.generateContentStream({ model: 'nothing', contents: 'x' }),
      404,
      'NOT_FOUND',
      'nothing',
    ],
    [
      'more than the model can',
      () => ask({ model: DECLARED, config: { maxOutputTokens: 4097 } }),
      400,
      'INVALID_ARGUMENT',
      'maxOutputTokens',
    ],
    ['a temperature that is too high', () => ask({ config: { temperature: 2.5 } }), 400, 'INVALID_ARGUMENT', 'temperature'],
    ['an unknown role', () => ask({ contents: [{ role: 'nobody', parts: [{ text: 'x' }] }] }), 400, 'INVALID_ARGUMENT', 'role'],
    ['a cached content', () => ask({ config: { cachedContent: 'cachedContents/x' } }), 400, 'INVALID_ARGUMENT', 'cachedContent'],
  ] as [string, () => Promise<unknown>, number, string, string][])(
    'G4, G10: %s is told as the official API tells it',
    async (_what, call, status, word, words) => {
      const before = stage.simulator.requests.length
      const failure = await failureOf(call())
      expect(failure).toBeInstanceOf(ApiError)
      expect((failure as ApiError).status).toBe(status)
      const { error } = JSON.parse((failure as ApiError).message) as { error: object }
      expect(error).toMatchObject({ code: status, status: word, message: expect.stringContaining(words) })
      expect(stage.simulator.requests).toHaveLength(before)
    },
  )

  test('a busy provider says when to come again', async () => {
    for (const method of ['generateContent', 'streamGenerateContent']) {
      const response = await fetch(`${stage.url}/v1beta/models/openai-chat/sim-status-429-retry-7:${method}?alt=sse`, {
        method: 'POST',
        headers: { 'x-goog-api-key': KEYS.good, 'content-type': 'application/json' },
        body: JSON.stringify({ contents: [{ parts: [{ text: 'Hello' }] }] }),
      })
      expect(response.status).toBe(429)
      // The SDK keeps no headers of an error; others do.
      expect(response.headers.get('retry-after')).toBe('7')
    }
  })

  test('the newest clients ask under another version', async () => {
    expect((await ask({}, clientWith(KEYS.good, 'v1'))).text).toBe(TEXT)
  })

  test('the key may stand in the query', async () => {
    const response = await fetch(`${stage.url}/v1beta/models/${encodeURIComponent(model)}:generateContent?key=${KEYS.good}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contents: [{ parts: [{ text: 'Hello' }] }] }),
    })
    expect(await response.json()).toMatchObject({ candidates: [{ finishReason: 'STOP' }] })
  })

  test('G7: models are listed by pages, and retrieved', async () => {
    const names: string[] = []
    for await (const listed of await client.models.list({ config: { pageSize: 100 } })) names.push(listed.name ?? '')
    expect(names.length).toBeGreaterThan(200)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toContain(`models/${model}`)
    expect(await client.models.get({ model: DECLARED })).toMatchObject({
      name: `models/${DECLARED}`,
      displayName: 'A declared model',
      inputTokenLimit: 200_000,
      outputTokenLimit: 4096,
    })
    expect(await failureOf(client.models.get({ model: 'nothing' }))).toMatchObject({ status: 404 })
  })
})

describe.each(lanesFor('generate'))('a client in the mode of Vertex AI on $name', lane => {
  // Without the whole path, the client would take the first part of a name for a publisher.
  const model = (name: string): string => `publishers/google/models/${modelOf(lane, name)}`

  test.each([undefined, 'v1'])('is answered whole, in a stream and with counts, at version %s', async version => {
    const { models } = ofVertex(KEYS.good, version)
    const { text } = await models.generateContent({ model: model('sim'), contents: 'Hello' })
    expect(text).toBe(TEXT)
    let streamed = ''
    for await (const event of await models.generateContentStream({ model: model('sim'), contents: 'Hello' })) streamed += event.text ?? ''
    expect(streamed).toBe(TEXT)
    expect((await models.countTokens({ model: model('sim'), contents: 'Hello' })).totalTokens).toBeGreaterThan(0)
  })

  test('and below a project', async () => {
    const path = `/v1/projects/p/locations/us-central1/${model('sim')}`
    const asked = { method: 'POST', headers: { authorization: `Bearer ${KEYS.good}`, 'content-type': 'application/json' } }
    const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
    const whole = await fetch(`${stage.url}${path}:generateContent`, { ...asked, body })
    const said = ({ candidates }: GenerateContentResponse): string => candidates?.[0]?.content?.parts?.[0]?.text ?? ''
    expect(said((await whole.json()) as GenerateContentResponse)).toBe(TEXT)
    const array = await fetch(`${stage.url}${path}:streamGenerateContent`, { ...asked, body })
    expect(((await array.json()) as GenerateContentResponse[]).map(said).join('')).toBe(TEXT)
  })
})

test('a client in the mode of Vertex AI sees the models, and errors of its dialect', async () => {
  const { models } = ofVertex(KEYS.good)
  const names: (string | undefined)[] = []
  for await (const { name } of await models.list()) names.push(name)
  const known = names.find(name => name?.endsWith('/sim')) ?? names[0] ?? ''
  expect(known).toMatch(/^publishers\/google\/models\/./)
  expect((await models.get({ model: known })).name).toBe(known)
  await expect(models.get({ model: 'nobody-knows' })).rejects.toMatchObject({ status: 404 })
  await expect(models.generateContent({ model: 'nobody-knows', contents: 'Hello' })).rejects.toMatchObject({ status: 404 })
  await expect(models.computeTokens({ model: known, contents: 'Hello' })).rejects.toMatchObject({ status: 404 })
  await expect(ofVertex('wrong').models.generateContent({ model: known, contents: 'Hello' })).rejects.toMatchObject({ status: 401 })
})
