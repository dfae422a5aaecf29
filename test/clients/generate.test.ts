// The official Gemini client in front of every provider.

import { GoogleGenAI } from '@google/genai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { providersFor, startAll } from './gateway.js'

let all: Awaited<ReturnType<typeof startAll>>
let client: GoogleGenAI

beforeAll(async () => {
  all = await startAll()
  client = new GoogleGenAI({ apiKey: all.key, httpOptions: { baseUrl: all.url } })
})
afterAll(() => all.close())

const contents = 'Hello'
const tools = [
  {
    functionDeclarations: [
      {
        name: 'get_weather',
        description: 'The weather',
        parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
  },
]

describe.each(providersFor('generate'))('generate client on %s', provider => {
  const model = (name: string): string => `${provider}/${name}`

  test('gets a text answer with usage, whole and as a stream', async () => {
    const whole = await client.models.generateContent({ model: model('sim'), contents })
    expect(whole.text).toMatch(/simulator/)
    expect(whole.candidates?.[0]?.finishReason).toBe('STOP')
    expect(whole.usageMetadata?.totalTokenCount).toBeGreaterThan(0)
    let text = ''
    let last: string | undefined
    for await (const chunk of await client.models.generateContentStream({ model: model('sim'), contents })) {
      text += chunk.text ?? ''
      last = chunk.candidates?.[0]?.finishReason ?? last
    }
    expect(text).toBe(whole.text)
    expect(last).toBe('STOP')
  })

  test('a chat keeps its history', async () => {
    const chat = client.chats.create({ model: model('sim') })
    await chat.sendMessage({ message: 'Hello' })
    for await (const chunk of await chat.sendMessageStream({ message: 'And?' })) expect(chunk.candidates?.length).toBeGreaterThan(0)
    // The client keeps every chunk of a stream as a turn of its own.
    expect(chat.getHistory().length).toBeGreaterThanOrEqual(4)
  })

  test('calls a function and takes its result', async () => {
    const first = await client.models.generateContent({ model: model('sim-tools'), contents, config: { tools } })
    const call = first.functionCalls?.[0]
    expect(call?.name).toBe('get_weather')
    expect(typeof call?.args?.city).toBe('string')
    const second = await client.models.generateContent({
      model: model('sim-tools'),
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        first.candidates?.[0]?.content ?? {},
        {
          role: 'user',
          parts: [{ functionResponse: { ...(call?.id && { id: call.id }), name: 'get_weather', response: { output: 'sunny-7731' } } }],
        },
      ],
      config: { tools },
    })
    expect(second.text).toContain('sunny-7731')
  })

  test('gets structured output that its schema accepts', async () => {
    const config = {
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    }
    const answer = await client.models.generateContent({ model: model('sim-json'), contents, config })
    expect(typeof JSON.parse(answer.text ?? '').name).toBe('string')
  })

  test('gets thoughts apart from the text', async () => {
    const answer = await client.models.generateContent({
      model: model('sim-reasoning'),
      contents,
      config: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } },
    })
    const thought = answer.candidates?.[0]?.content?.parts?.find(part => part.thought)
    expect(thought?.text).toBeTruthy()
    expect(answer.text).not.toContain(thought?.text)
  })

  test('a limit ends as such, and tokens are counted', async () => {
    const answer = await client.models.generateContent({ model: model('sim-length'), contents })
    expect(answer.candidates?.[0]?.finishReason).toBe('MAX_TOKENS')
    expect((await client.models.countTokens({ model: model('sim'), contents })).totalTokens).toBeGreaterThan(0)
  })

  test.each([
    ['sim-status-400', 400],
    ['sim-status-500', 502],
  ])('%s before the stream is status %i', async (name, status) => {
    await expect(client.models.generateContent({ model: model(name), contents })).rejects.toMatchObject({ status })
    await expect(client.models.generateContentStream({ model: model(name), contents })).rejects.toMatchObject({ status })
  })

  test.each(['sim-fail-2', 'sim-malformed-2'])('%s raises inside the stream', async name => {
    const read = async () => {
      for await (const chunk of await client.models.generateContentStream({ model: model(name), contents })) expect(chunk).toBeDefined()
    }
    await expect(read()).rejects.toThrow()
  })
})

test('a wrong key and an unknown model are told as the official API tells them', async () => {
  const stranger = new GoogleGenAI({ apiKey: 'nobody', httpOptions: { baseUrl: all.url } })
  await expect(stranger.models.generateContent({ model: 'gemini/sim', contents })).rejects.toMatchObject({ status: 401 })
  await expect(client.models.generateContent({ model: 'nothing', contents })).rejects.toMatchObject({ status: 404 })
})

test('lists and retrieves models', async () => {
  const names = []
  for await (const model of await client.models.list({ config: { pageSize: 9 } })) names.push(model.name)
  expect(names).toContain('models/gemini/sim')
  expect(new Set(names).size).toBe(names.length)
  expect((await client.models.get({ model: 'gemini/sim' })).name).toBe('models/gemini/sim')
})
