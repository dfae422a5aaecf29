// The official OpenAI client's legacy completions with every text provider.

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEYS, lanesFor, modelOf, type Stage, startStage } from './gateway.js'

let stage: Stage
let client: OpenAI

beforeAll(async () => {
  stage = await startStage()
  client = new OpenAI({ apiKey: KEYS.good, baseURL: `${stage.url}/v1`, maxRetries: 0 })
})
afterAll(() => stage?.close())

describe.each(lanesFor('completions'))('completions client on $name', lane => {
  const model = (name: string): string => modelOf(lane, name)

  test('gets a text with usage, whole and as a stream', async () => {
    const whole = await client.completions.create({ model: model('sim'), prompt: 'Hello', max_tokens: 50 })
    expect(whole.object).toBe('text_completion')
    expect(whole.choices[0]?.text).toMatch(/simulator/)
    expect(whole.choices[0]?.finish_reason).toBe('stop')
    expect(whole.usage?.total_tokens).toBeGreaterThan(0)
    const stream = await client.completions.create({
      model: model('sim'),
      prompt: 'Hello',
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const reasons: string[] = []
    let total: number | undefined
    const ids = new Set<string>()
    for await (const event of stream) {
      ids.add(event.id)
      text += event.choices[0]?.text ?? ''
      if (event.choices[0]?.finish_reason) reasons.push(event.choices[0].finish_reason)
      expect(total, 'nothing comes after the usage').toBeUndefined()
      if (event.usage) total = event.usage.total_tokens
    }
    expect(text).toBe(whole.choices[0]?.text)
    expect(reasons).toEqual(['stop'])
    expect(total).toBe(whole.usage?.total_tokens)
    expect(ids.size).toBe(1)
  })

  test('reports no usage in a stream unless the request asks for it', async () => {
    const stream = await client.completions.create({ model: model('sim'), prompt: 'Hello', stream: true })
    for await (const event of stream) {
      expect(event.choices.length).toBe(1)
      // If only the gateway requested usage, the provider writes null into the events before.
      expect(event.usage ?? null).toBeNull()
    }
  })

  test('gets n answers to each of several prompts, numbered through', async () => {
    const one = await client.completions.create({ model: model('sim'), prompt: 'One' })
    const answer = await client.completions.create({ model: model('sim'), prompt: ['One', 'Two', 'Three'], n: 2, best_of: 2 })
    expect(answer.choices.map(choice => choice.index)).toEqual([0, 1, 2, 3, 4, 5])
    expect(new Set(answer.choices.map(choice => choice.text))).toEqual(new Set([one.choices[0]?.text]))
    expect(answer.usage?.completion_tokens).toBe(6 * (one.usage?.completion_tokens ?? Number.NaN))
  })

  test('a limit ends as such, a filter as well', async () => {
    expect((await client.completions.create({ model: model('sim-length'), prompt: 'Hello' })).choices[0]?.finish_reason).toBe('length')
    const filtered = await client.completions.create({ model: model('sim-filter'), prompt: 'Hello' })
    expect(filtered.choices[0]?.finish_reason).toBe('content_filter')
  })

  test('reasoning is no part of the text', async () => {
    const answer = await client.completions.create({ model: model('sim-reasoning'), prompt: 'Hello' })
    expect(answer.choices[0]?.text).toBe((await client.completions.create({ model: model('sim'), prompt: 'Hello' })).choices[0]?.text)
  })

  test.each([
    ['sim-status-400', 400],
    ['sim-status-429-retry-7', 429],
    ['sim-status-500', lane.isNative ? 500 : 502],
  ])('%s is status %i, before a stream, too', async (name, status) => {
    await expect(client.completions.create({ model: model(name), prompt: 'Hello' })).rejects.toMatchObject({ status })
    await expect(client.completions.create({ model: model(name), prompt: 'Hello', stream: true })).rejects.toMatchObject({ status })
  })

  test.each(['sim-fail-3', 'sim-cut-4', 'sim-malformed-4'])('%s raises inside the stream', async name => {
    const read = async () => {
      const stream = await client.completions.create({ model: model(name), prompt: 'Hello', stream: true })
      for await (const event of stream) expect(event.object).toBe('text_completion')
    }
    await expect(read()).rejects.toThrow()
  })
})

test('what only a completions provider can do passes to it, and is refused elsewhere by its name', async () => {
  const asked = { prompt: 'Hello', echo: true }
  const echoed = await client.completions.create({ model: 'openai-completions/sim', ...asked })
  expect(echoed.choices[0]?.text).toMatch(/^Hello/)
  await expect(client.completions.create({ model: 'anthropic-messages-newest/sim', ...asked })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
    param: 'echo',
  })
  await expect(client.completions.create({ model: 'gemini-generate-2.5/sim', prompt: [15339] })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
    param: 'prompt',
  })
  expect((await client.completions.create({ model: 'openai-completions/sim', prompt: [[15339], [995]] })).choices.length).toBe(2)
})

test('more calls than one request may make are refused', async () => {
  const prompt = Array.from({ length: 65 }, () => 'Hello')
  await expect(client.completions.create({ model: 'anthropic-messages-newest/sim', prompt })).rejects.toMatchObject({ status: 400 })
})
