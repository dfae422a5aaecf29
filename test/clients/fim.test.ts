// Fill-in-the-middle as clients of Mistral ask for it, at Mistral and at providers of completions that insert text before a suffix.

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const PATH = '/v1/fim/completions'
const NAMES = [
  'sim',
  'sim-length',
  'sim-cached',
  'sim-empty',
  'sim-status-400',
  'sim-status-401',
  'sim-status-429-retry-7',
  'sim-status-500',
  'sim-fail-2',
  'sim-cut-2',
]
const GAP = { prompt: 'def fib(a):', suffix: '    return fib(a-1) + fib(a-2)', max_tokens: 20 }

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
  const { upstreams, models } = simulated(simulator.url, NAMES, ['mistral', 'deepseek', 'vllm'])
  const price = { input: 1, output: 2, cached: 0.5 }
  gateway = await startGateway({
    upstreams,
    models: Object.fromEntries(Object.entries(models as object).map(([name, model]) => [name, { ...model, price }])),
    expose: ['cost'],
  })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const ask = (body: object): Promise<Response> => gateway.post(PATH, body)

async function told(body: object): Promise<[number, unknown]> {
  const answer = await ask(body)
  return [answer.status, await answer.json()]
}

interface Chunk {
  choices: { delta: { content?: string }; finish_reason: string | null }[]
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

async function streamed(body: object): Promise<{ id: string | null; chunks: Chunk[]; last: string | undefined }> {
  const answer = await ask({ ...body, stream: true })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  const data = (await answer.text()).split('\n').filter(line => line.startsWith('data: '))
  const events = data.map(line => line.slice(6))
  const id = answer.headers.get('x-request-id')
  return { id, chunks: events.filter(one => one !== '[DONE]').map(one => JSON.parse(one)), last: events.at(-1) }
}

describe.each(['mistral', 'deepseek'])('on %s', provider => {
  test('the middle comes as a chat completion, and its tokens are paid', async () => {
    const answer = await ask({ model: `${provider}/sim`, ...GAP })
    const body = await answer.json()
    expect(wrong('fim', 'response', body)).toBeUndefined()
    expect(body).toMatchObject({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: expect.stringMatching(/simulator/) }, finish_reason: 'stop' }],
    })
    const { prompt_tokens, completion_tokens } = body.usage
    expect(Number(answer.headers.get('x-sluice-cost'))).toBeCloseTo((prompt_tokens + 2 * completion_tokens) / 1e6, 9)
  })

  test('a stream has the same text, its usage in the last chunk, and an end', async () => {
    const whole = await (await ask({ model: `${provider}/sim`, ...GAP })).json()
    const { id, chunks, last } = await streamed({ model: `${provider}/sim`, ...GAP })
    for (const chunk of chunks) expect(wrong('fim', 'event', chunk)).toBeUndefined()
    expect(chunks.map(one => one.choices[0]?.delta.content ?? '').join('')).toBe(whole.choices[0].message.content)
    expect(chunks.flatMap(one => one.choices[0]?.finish_reason ?? [])).toEqual(['stop'])
    expect(chunks.flatMap(one => one.usage ?? [])).toEqual([chunks.at(-1)?.usage])
    expect(chunks.at(-1)?.usage).toMatchObject({ total_tokens: whole.usage.total_tokens })
    expect(last).toBe('[DONE]')
    const { prompt_tokens: input, completion_tokens: output } = whole.usage
    await expect.poll(() => gateway.log.find(line => line.id === id)).toMatchObject({ usage: { input, output }, cost: expect.any(Number) })
  })

  test('an end by the limit is one', async () => {
    const [, body] = await told({ model: `${provider}/sim-length`, ...GAP })
    expect(body).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  })

  test.each(['sim-fail-2', 'sim-cut-2'])('a stream that breaks (%s) ends with an error', async name => {
    const { chunks, last } = await streamed({ model: `${provider}/${name}`, ...GAP })
    expect(chunks.at(-1)).toMatchObject({ object: 'error', message: expect.any(String), type: expect.any(String), param: null })
    expect(last).not.toBe('[DONE]')
  })

  test('a limit of the provider is a limit of the client', async () => {
    const answer = await ask({ model: `${provider}/sim-status-429-retry-7`, ...GAP })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7'])
    expect(await answer.json()).toEqual({
      object: 'error',
      message: expect.any(String),
      type: 'rate_limited',
      param: null,
      code: '1300',
      raw_status_code: 429,
    })
  })

  test('what the provider got says prompt and suffix', async () => {
    const answer = await ask({ model: `${provider}/sim`, ...GAP, temperature: 0.2, stop: ['\n\n'], random_seed: 7 })
    const sent = JSON.parse(simulator.requests.at(-1)?.body as string)
    expect(sent).toEqual({
      model: 'sim',
      ...GAP,
      temperature: 0.2,
      stop: ['\n\n'],
      ...(provider === 'mistral' && { random_seed: 7 }),
    })
    expect(answer.headers.get('x-sluice-dropped')).toBe(provider === 'mistral' ? null : 'seed')
  })
})

test('a model that does not exist is told as Mistral tells it', async () => {
  expect(await told({ model: 'nothing', ...GAP })).toEqual([
    400,
    {
      object: 'error',
      message: expect.stringContaining('nothing'),
      type: 'invalid_model',
      param: null,
      code: '1500',
      raw_status_code: 400,
    },
  ])
})

test('a key that does not exist is told as Mistral tells it', async () => {
  const answer = await fetch(gateway.url + PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}-not` },
    body: JSON.stringify({ model: 'mistral/sim', ...GAP }),
  })
  expect([answer.status, await answer.json()]).toMatchObject([401, { detail: expect.any(String), type: 'unauthorized' }])
})

test('a request without a prompt is refused with the place', async () => {
  expect(await told({ model: 'mistral/sim', suffix: 'x' })).toEqual([
    422,
    {
      object: 'error',
      message: { detail: [{ type: expect.any(String), loc: ['body', 'prompt'], msg: expect.any(String) }] },
      type: 'invalid_request_error',
      param: null,
      code: null,
      raw_status_code: 422,
    },
  ])
})

test('a provider that is not known to insert text before a suffix is not asked', async () => {
  const [status, body] = await told({ model: 'vllm/sim', ...GAP })
  expect([status, (body as { type: string }).type]).toEqual([400, 'invalid_model'])
})

describe('a client of completions', () => {
  const client = (): OpenAI => new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const sent = (): { path: string; body: unknown } => {
    const { path, body } = simulator.requests.at(-1) as (typeof simulator.requests)[number]
    return { path, body: JSON.parse(body as string) }
  }

  test('has its suffix filled in at DeepSeek, whole and as a stream', async () => {
    const whole = await client().completions.create({ model: 'deepseek/sim', ...GAP })
    expect(whole).toMatchObject({
      object: 'text_completion',
      choices: [{ text: expect.stringMatching(/simulator/), finish_reason: 'stop' }],
    })
    expect(sent()).toEqual({ path: '/beta/completions', body: { model: 'sim', ...GAP } })
    let text = ''
    for await (const event of await client().completions.create({ model: 'deepseek/sim', ...GAP, stream: true })) {
      expect(event.choices.length).toBe(1)
      text += event.choices[0]?.text
    }
    expect(text).toBe(whole.choices[0]?.text)
    const usages = []
    const counted = { stream: true, stream_options: { include_usage: true } } as const
    for await (const event of await client().completions.create({ model: 'deepseek/sim', ...GAP, ...counted }))
      usages.push(event.usage ?? null)
    expect(usages.filter(Boolean)).toEqual([expect.objectContaining({ total_tokens: whole.usage?.total_tokens })])
  })

  test('gets the answer of a chat without a suffix', async () => {
    await client().completions.create({ model: 'deepseek/sim', prompt: 'Hello' })
    expect(sent().path).toBe('/chat/completions')
  })

  test('is refused what neither of the two can do', async () => {
    const asked = client().completions.create({ model: 'deepseek/sim', ...GAP, n: 2 })
    await expect(asked).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'n' })
  })
})
