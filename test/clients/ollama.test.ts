// Ollama's official client with providers of every text dialect, and the official clients of the others with an upstream of
// Ollama. All pairs but two are made of two mappings.

import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { Ollama, type Tool } from 'ollama'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const NAMES = ['sim', 'sim-4k', 'sim-tools', 'sim-parallel', 'sim-reasoning', 'sim-json', 'sim-length', 'sim-utf8', 'sim-empty'].concat([
  'sim-status-429',
  'sim-fail-3',
  'sim-cut-3',
  'sim-html',
])

/** Providers that speak one dialect alone. */
const only = (dialect: string, path: string): Record<string, string> => ({
  [`providers/only_${dialect}.yaml`]: `title: One\ncredential: { header: x-key }\nspeaks: { ${dialect}: '${path}' }\n`,
})
const PROVIDERS = ['only_ollama', 'only_chat', 'only_responses', 'only_cohere_chat', 'anthropic', 'gemini']
/** A server of Ollama, which speaks everything that its clients do. */
const SERVER = 'ollama'
const EMBEDDERS = [SERVER, 'only_embeddings', 'only_embed_content', 'cohere', 'gemini']
const ALL = [...new Set([...PROVIDERS, ...EMBEDDERS])]

let simulator: Simulator
let gateway: TestGateway
let ollama: Ollama

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (name, body) => wrong(name, 'request', body) })
  gateway = await startGateway(
    {
      upstreams: Object.fromEntries(ALL.map(provider => [provider, { provider, base: simulator.url, secret: 's' }])),
      models: Object.fromEntries(
        ALL.flatMap(provider => NAMES.map(name => [`${provider}/${name}`, { targets: [{ upstream: provider, model: name }] }])),
      ),
    },
    {
      ...only('ollama', '/api/chat'),
      ...only('chat', '/v1/chat/completions'),
      ...only('responses', '/v1/responses'),
      ...only('cohere_chat', '/v2/chat'),
      ...only('embeddings', '/v1/embeddings'),
      ...only('embed_content', '/v1beta/models/{model}:embedContent'),
    },
  )
  ollama = new Ollama({ host: gateway.url, headers: { authorization: `Bearer ${KEY}` } })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const hello = [{ role: 'user', content: 'Hello' }]
const weather: Tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a place',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
}
const last = (): Record<string, unknown> => JSON.parse(simulator.requests.at(-1)?.body as string)

describe('a client of Ollama', () => {
  test('lists the models that it can chat with, and is shown one', async () => {
    const { models } = await ollama.list()
    expect(models.map(({ name }) => name)).toEqual(expect.arrayContaining(PROVIDERS.map(provider => `${provider}/sim`)))
    expect(models[0]).toMatchObject({ details: { family: expect.any(String) }, size: 0 })
    const shown = await ollama.show({ model: 'anthropic/sim' })
    expect(shown.capabilities).toContain('completion')
    await expect(ollama.show({ model: 'nobody' })).rejects.toMatchObject({ status_code: 404, error: 'Not found.' })
  })

  // Open WebUI adds it to a name without a tag, looks the name up in the list, and sends it (`generate_chat_completion` in
  // https://github.com/open-webui/open-webui/blob/main/backend/open_webui/routers/ollama.py).
  test('may name a model with the tag latest, with which it is listed', async () => {
    const model = 'anthropic/sim:latest'
    expect((await ollama.list()).models.map(listed => listed.model)).toContain(model)
    expect((await ollama.show({ model })).capabilities).toContain('completion')
    const whole = await ollama.chat({ model, messages: hello })
    expect(whole).toMatchObject({ model, message: { content: expect.stringMatching(/simulator/) } })
    expect(last()).toMatchObject({ model: 'sim' })
    expect((await ollama.generate({ model, prompt: 'Hello' })).model).toBe(model)
    expect((await ollama.embed({ model: 'gemini/sim:latest', input: 'Hello' })).embeddings).toHaveLength(1)
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY })
    expect((await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] })).choices).toHaveLength(1)
    await expect(ollama.chat({ model: 'nobody:latest', messages: hello })).rejects.toMatchObject({ status_code: 404 })
  })

  // https://github.com/taketwo/llm-ollama/blob/main/llm_ollama/__init__.py takes models of one digest for one model with several names,
  // and remembers what a digest can do.
  test('tells models apart by their digests', async () => {
    const digests = async (): Promise<string[]> => (await ollama.list()).models.map(({ digest }) => digest)
    const all = await digests()
    expect(new Set(all).size).toBe(all.length)
    expect(all).toEqual(all.map(() => expect.stringMatching(/^[0-9a-f]{64}$/)))
    expect(await digests()).toEqual(all)
  })

  test('is told a version that other clients accept, and that nothing is in memory here', async () => {
    // GitHub Copilot refuses a server before this one.
    expect((await ollama.version()).version.localeCompare('0.6.4', 'en', { numeric: true })).toBeGreaterThanOrEqual(0)
    expect(await ollama.ps()).toEqual({ models: [] })
  })

  test('is told that the gateway has no models of its own to pull, push, create, copy or delete', async () => {
    const refused = { status_code: 501, error: expect.stringMatching(/models of providers/) }
    const model = 'llama3.2'
    await expect(ollama.pull({ model })).rejects.toMatchObject(refused)
    await expect(ollama.pull({ model, stream: true })).rejects.toMatchObject(refused)
    await expect(ollama.push({ model })).rejects.toMatchObject(refused)
    await expect(ollama.create({ model, from: 'llama3' })).rejects.toMatchObject(refused)
    await expect(ollama.copy({ source: model, destination: 'other' })).rejects.toMatchObject(refused)
    await expect(ollama.delete({ model })).rejects.toMatchObject(refused)
    const blob = await fetch(`${gateway.url}/api/blobs/sha256:00`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: 'x',
    })
    expect([blob.status, await blob.json()]).toEqual([501, { error: expect.stringMatching(/models of providers/) }])
    const nobody = new Ollama({ host: gateway.url })
    await expect(nobody.pull({ model })).rejects.toMatchObject({ status_code: 401 })
  })

  test('finds embedding models by their capability', async () => {
    expect((await ollama.list()).models.map(({ name }) => name)).toEqual(expect.arrayContaining(EMBEDDERS.map(name => `${name}/sim`)))
    expect((await ollama.show({ model: 'cohere/sim' })).capabilities).toContain('embedding')
    expect((await ollama.show({ model: 'only_embeddings/sim' })).capabilities).toEqual(['embedding'])
    expect((await ollama.show({ model: 'only_chat/sim' })).capabilities).not.toContain('embedding')
  })

  describe.each(PROVIDERS)('on %s', provider => {
    const model = (name: string): string => `${provider}/${name}`

    test('gets a whole answer, and the same in lines', async () => {
      for (const name of ['sim', 'sim-utf8', 'sim-empty']) {
        const whole = await ollama.chat({ model: model(name), messages: hello })
        expect(whole).toMatchObject({ done: true, done_reason: 'stop', message: { role: 'assistant' }, prompt_eval_count: 12 })
        expect(wrong('ollama', 'response', whole)).toBeUndefined()
        let text = ''
        let ended = 0
        for await (const line of await ollama.chat({ model: model(name), messages: hello, stream: true })) {
          expect(ended).toBe(0)
          expect(wrong('ollama', 'event', line)).toBeUndefined()
          text += line.message.content
          if (line.done) {
            ended++
            expect(line).toMatchObject({ done_reason: 'stop', prompt_eval_count: 12 })
          }
        }
        expect(ended).toBe(1)
        expect(text).toBe(whole.message.content)
      }
      expect((await ollama.chat({ model: model('sim-length'), messages: hello })).done_reason).toBe('length')
    })

    test('gets a stream by default', async () => {
      const answer = await fetch(`${gateway.url}/api/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model: model('sim'), messages: hello }),
      })
      expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
      expect((await answer.text()).trim().split('\n').length).toBeGreaterThan(2)
    })

    test('calls tools, whole and streamed, and sends their results', async () => {
      const ask = { model: model('sim-parallel'), messages: hello, tools: [weather] }
      const whole = await ollama.chat(ask)
      expect(whole.message.tool_calls).toHaveLength(2)
      expect(whole.message.tool_calls?.[0]?.function).toMatchObject({ name: 'get_weather', arguments: { city: expect.any(String) } })
      const streamed = []
      for await (const line of await ollama.chat({ ...ask, stream: true })) {
        // Haystack keeps one call of a line.
        expect(line.message.tool_calls?.length ?? 1).toBe(1)
        streamed.push(...(line.message.tool_calls ?? []))
      }
      expect(streamed.map(call => call.function.arguments)).toEqual(whole.message.tool_calls?.map(call => call.function.arguments))
      const end = await ollama.chat({
        ...ask,
        messages: [
          ...hello,
          whole.message,
          ...(whole.message.tool_calls ?? []).map((call, at) => ({
            role: 'tool',
            tool_name: call.function.name,
            content: `${at} degrees`,
          })),
        ],
      })
      expect(end.message.tool_calls).toBeUndefined()
      expect(end.message.content).toContain('0 degrees')
    })

    test('is shown thoughts, where it wants them', async () => {
      const ask = { model: model('sim-reasoning'), messages: hello, think: true }
      const whole = await ollama.chat(ask)
      expect(whole.message.thinking).toBeTruthy()
      let thought = ''
      for await (const line of await ollama.chat({ ...ask, stream: true })) thought += line.message.thinking ?? ''
      expect(thought).toBe(whole.message.thinking)
    })

    test('sends images, a schema and options', async () => {
      const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'], additionalProperties: false }
      const answer = await ollama.chat({
        model: model('sim-json'),
        messages: [{ role: 'user', content: 'What is this?', images: [PNG] }],
        format: schema,
        options: { num_predict: 300, stop: ['END'] },
      })
      expect(JSON.parse(answer.message.content)).toMatchObject({ answer: expect.any(String) })
      const sent = JSON.stringify(last())
      expect(sent).toContain(PNG)
      expect(sent).toContain('300')
    })

    test('gets errors in its own dialect', async () => {
      await expect(ollama.chat({ model: model('sim-status-429'), messages: hello })).rejects.toMatchObject({ status_code: 429 })
      await expect(ollama.chat({ model: model('sim-html'), messages: hello })).rejects.toMatchObject({ status_code: 502 })
      for (const name of ['sim-fail-3', 'sim-cut-3'])
        await expect(
          (async () => {
            for await (const line of await ollama.chat({ model: model(name), messages: hello, stream: true })) expect(line.done).toBe(false)
          })(),
        ).rejects.toThrow(/./)
    })

    test('is counted', async () => {
      await ollama.chat({ model: model('sim'), messages: hello })
      await expect
        .poll(() => gateway.log.findLast(({ msg }) => msg === 'request'))
        .toMatchObject({ model: model('sim'), usage: { input: 12, output: expect.any(Number) } })
    })
  })

  test('gets dropped fields reported by its own names, whichever mapping loses them', async () => {
    const ask = (model: string) =>
      fetch(`${gateway.url}/api/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model, messages: hello, stream: false, keep_alive: '5m', options: { seed: 3, num_ctx: 4096, top_k: 4 } }),
      })
    expect((await ask('only_ollama/sim')).headers.get('x-sluice-dropped')).toBeNull()
    expect((await ask('only_chat/sim')).headers.get('x-sluice-dropped')).toBe('keep_alive, options.num_ctx, options.top_k')
    expect((await ask('anthropic/sim')).headers.get('x-sluice-dropped')).toBe('keep_alive, options.num_ctx, options.top_k, options.seed')
    const refused = await fetch(`${gateway.url}/api/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'anthropic/sim', messages: hello, logprobs: true }),
    })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toEqual({ error: expect.stringContaining("'logprobs'") })
  })
})

describe.each([SERVER, ...PROVIDERS])('a client of Ollama that generates on %s', provider => {
  const model = (name: string): string => `${provider}/${name}`

  test('gets a whole answer, and the same in lines', async () => {
    for (const name of ['sim', 'sim-utf8', 'sim-empty']) {
      const whole = await ollama.generate({ model: model(name), prompt: 'Hello', system: 'Be brief.' })
      expect(whole).toMatchObject({ done: true, done_reason: 'stop', response: expect.any(String), prompt_eval_count: 12 })
      expect(whole.created_at).toMatch(/^\d{4}-\d\d-\d\dT/)
      expect(wrong('ollama_generate', 'response', whole)).toBeUndefined()
      expect(JSON.stringify(last())).toContain('Be brief.')
      let text = ''
      let ended = 0
      for await (const line of await ollama.generate({ model: model(name), prompt: 'Hello', stream: true })) {
        expect(ended).toBe(0)
        expect(wrong('ollama_generate', 'event', line)).toBeUndefined()
        text += line.response
        if (line.done) {
          ended++
          expect(line).toMatchObject({ done_reason: 'stop', prompt_eval_count: 12, eval_count: expect.any(Number) })
        }
      }
      expect(ended).toBe(1)
      expect(text).toBe(whole.response)
    }
    expect((await ollama.generate({ model: model('sim-length'), prompt: 'Hello' })).done_reason).toBe('length')
  })

  test('gets a stream by default', async () => {
    const answer = await fetch(`${gateway.url}/api/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: model('sim'), prompt: 'Hello' }),
    })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    expect((await answer.text()).trim().split('\n').length).toBeGreaterThan(2)
  })

  test('is shown thoughts, where it wants them', async () => {
    const ask = { model: model('sim-reasoning'), prompt: 'Hello', think: true }
    const whole = await ollama.generate(ask)
    expect([whole.thinking, whole.response]).toEqual([expect.stringMatching(/\w/), expect.stringMatching(/\w/)])
    let thought = ''
    for await (const line of await ollama.generate({ ...ask, stream: true })) thought += line.thinking ?? ''
    expect(thought).toBe(whole.thinking)
  })

  test('sends images, a schema and options', async () => {
    const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'], additionalProperties: false }
    const answer = await ollama.generate({
      model: model('sim-json'),
      prompt: 'What is this?',
      images: [PNG],
      format: schema,
      keep_alive: '5m',
      options: { num_predict: 300, stop: ['END'] },
    })
    expect(JSON.parse(answer.response as string)).toMatchObject({ answer: expect.any(String) })
    const sent = JSON.stringify(last())
    expect(sent).toContain(PNG)
    expect(sent).toContain('300')
  })

  test('gets errors in its own dialect', async () => {
    await expect(ollama.generate({ model: model('sim-status-429'), prompt: 'Hello' })).rejects.toMatchObject({ status_code: 429 })
    await expect(ollama.generate({ model: model('sim-html'), prompt: 'Hello' })).rejects.toMatchObject({ status_code: 502 })
    for (const name of ['sim-fail-3', 'sim-cut-3'])
      await expect(
        (async () => {
          for await (const line of await ollama.generate({ model: model(name), prompt: 'Hello', stream: true }))
            expect(line.done).toBe(false)
        })(),
      ).rejects.toThrow(/./)
  })

  test('is counted', async () => {
    await ollama.generate({ model: model('sim'), prompt: 'Hello' })
    await expect
      .poll(() => gateway.log.findLast(({ msg }) => msg === 'request'))
      .toMatchObject({ route: 'ollama.generate', model: model('sim'), usage: { input: 12, output: expect.any(Number) } })
  })
})

describe('what only a server of Ollama does with a prompt', () => {
  const ask = (provider: string, more: object) =>
    fetch(`${gateway.url}/api/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: `${provider}/sim`, prompt: 'Hello', stream: false, ...more }),
    })
  const more = [
    { suffix: ' world' },
    { raw: true },
    { template: '[INST] {{ .Prompt }} [/INST]' },
    { context: [1, 2, 3] },
    // A server only loads the model, or unloads it.
    { prompt: undefined, keep_alive: 0 },
    { prompt: '' },
  ]

  test.each(more)('passes to it as it is: %j', async extra => {
    expect((await ask(SERVER, extra)).status).toBe(200)
    expect(simulator.requests.at(-1)?.path).toBe('/api/generate')
    expect(last()).toEqual({ model: 'sim', ...JSON.parse(JSON.stringify({ prompt: 'Hello', stream: false, ...extra })) })
  })

  test.each([...more.slice(0, 4), { prompt: ' ' }])('is refused elsewhere, before any call: %j', async extra => {
    const before = simulator.requests.length
    for (const provider of PROVIDERS) {
      const answer = await ask(provider, extra)
      expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringContaining(`'${Object.keys(extra)[0]}'`) }])
    }
    expect(simulator.requests).toHaveLength(before)
  })

  test('is dropped and reported, if it does not change the answer', async () => {
    const extra = { keep_alive: '5m', options: { seed: 3, num_ctx: 4096, top_k: 4 }, width: 64 }
    expect((await ask(SERVER, extra)).headers.get('x-sluice-dropped')).toBeNull()
    expect((await ask('only_chat', extra)).headers.get('x-sluice-dropped')).toBe('keep_alive, options.num_ctx, width, options.top_k')
    expect((await ask('only_ollama', { suffix: '', raw: false, template: '', context: [] })).headers.get('x-sluice-dropped')).toBeNull()
  })
})

describe.each(PROVIDERS)('a client of Ollama that loads a model of %s', provider => {
  const model = `${provider}/sim`
  const at = expect.stringMatching(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const post = async (path: string, body: object): Promise<[number, string | null, unknown]> => {
    const answer = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model, ...body }),
    })
    return [answer.status, answer.headers.get('content-type'), JSON.parse(await answer.text())]
  }

  test.each([
    [{}, 'load'],
    [{ prompt: '' }, 'load'],
    [{ prompt: '', keep_alive: '10m', stream: false }, 'load'],
    [{ keep_alive: -1, options: { num_ctx: 4096 } }, 'load'],
    [{ keep_alive: 0 }, 'unload'],
    [{ prompt: '', keep_alive: '0s', stream: false }, 'unload'],
  ])('by generating nothing, is told that it is done, without a call: %j', async (body, done_reason) => {
    const before = simulator.requests.length
    const answer = { model, created_at: at, response: '', done: true, done_reason }
    expect(await post('/api/generate', body)).toEqual([200, 'application/json', answer])
    expect(simulator.requests).toHaveLength(before)
  })

  test.each([
    [{}, 'load'],
    [{ messages: [], keep_alive: '10m' }, 'load'],
    [{ messages: [], keep_alive: 0, stream: false }, 'unload'],
  ])('by saying nothing, is told that it is done: %j', async (body, done_reason) => {
    if (provider === 'only_ollama') return
    const before = simulator.requests.length
    const answer = { model, created_at: at, message: { role: 'assistant', content: '' }, done: true, done_reason }
    expect(await post('/api/chat', body)).toEqual([200, 'application/json', answer])
    expect(simulator.requests).toHaveLength(before)
  })

  test('with its own library, as a stream too', async () => {
    const lines = []
    for await (const line of await ollama.generate({ model, prompt: '', stream: true })) lines.push(line)
    expect(lines).toMatchObject([{ response: '', done: true, done_reason: 'load' }])
    if (provider === 'only_ollama') return
    expect(await ollama.chat({ model, messages: [], keep_alive: 0 })).toMatchObject({ done: true, done_reason: 'unload' })
  })
})

test('a model that is not there cannot be loaded', async () => {
  await expect(ollama.generate({ model: 'nobody', prompt: '' })).rejects.toMatchObject({ status_code: 404 })
  await expect(ollama.chat({ model: 'nobody', messages: [] })).rejects.toMatchObject({ status_code: 404 })
})

describe.each(EMBEDDERS)('a client of Ollama that embeds on %s', provider => {
  const model = `${provider}/sim`

  test('gets a vector of one text, and the same of several, in their order', async () => {
    const one = await ollama.embed({ model, input: 'Hello' })
    expect(wrong('ollama_embed', 'response', one)).toBeUndefined()
    expect(one).toMatchObject({ embeddings: [[expect.any(Number), expect.any(Number)].concat(Array(6).fill(expect.any(Number)))] })
    const three = await ollama.embed({ model, input: ['Hello', 'other', 'Hello'] })
    expect(wrong('ollama_embed', 'response', three)).toBeUndefined()
    expect(three.embeddings).toEqual([one.embeddings[0], three.embeddings[1], one.embeddings[0]])
    expect(three.embeddings[1]).not.toEqual(one.embeddings[0])
    expect(three.prompt_eval_count).toBeGreaterThan(0)
    expect((await ollama.embed({ model, input: ['Hello'], dimensions: 4, truncate: true })).embeddings).toEqual([
      one.embeddings[0]?.slice(0, 4),
    ])
  })

  test('gets many vectors, however many the provider makes at once', async () => {
    const input = Array.from({ length: provider === 'only_embed_content' ? 40 : 201 }, (_, at) => `text ${at}`)
    const { embeddings } = await ollama.embed({ model, input })
    expect(embeddings).toHaveLength(input.length)
    expect(embeddings[39]).toEqual((await ollama.embed({ model, input: 'text 39' })).embeddings[0])
  })

  test('gets the vector of a prompt, as old clients ask for it', async () => {
    const [vector] = (await ollama.embed({ model, input: 'Hello' })).embeddings
    const answer = await ollama.embeddings({ model, prompt: 'Hello', options: { temperature: 0 }, keep_alive: '5m' })
    expect(wrong('ollama_embeddings', 'response', answer)).toBeUndefined()
    expect(answer.embedding).toEqual(vector)
  })

  test('gets errors in its own dialect', async () => {
    await expect(ollama.embed({ model: `${provider}/sim-status-429`, input: 'Hello' })).rejects.toMatchObject({ status_code: 429 })
    await expect(ollama.embeddings({ model: `${provider}/sim-html`, prompt: 'Hello' })).rejects.toMatchObject({ status_code: 502 })
    await expect(ollama.embed({ model: 'nobody', input: 'Hello' })).rejects.toMatchObject({ status_code: 404, error: expect.any(String) })
  })

  test('is counted', async () => {
    await ollama.embed({ model, input: 'Hello' })
    await expect
      .poll(() => gateway.log.findLast(({ msg }) => msg === 'request'))
      .toMatchObject({ route: 'ollama.embed', model, usage: { input: 12 } })
  })
})

test('an empty text among others is refused, and passes to a server of Ollama', async () => {
  const input = ['Hello', '']
  await ollama.embed({ model: `${SERVER}/sim`, input })
  expect(last().input).toEqual(input)
  for (const provider of EMBEDDERS.slice(1))
    await expect(ollama.embed({ model: `${provider}/sim`, input })).rejects.toMatchObject({
      status_code: 400,
      error: expect.stringContaining("'input'"),
    })
})

// EmbedHandler and EmbeddingsHandler in server/routes.go of github.com/ollama/ollama: such a request only loads the model.
test('of nothing no vector is made, and no provider is asked but a server of Ollama', async () => {
  for (const input of ['', []]) {
    await ollama.embed({ model: `${SERVER}/sim`, input })
    expect(last().input).toEqual(input)
    const asked = simulator.requests.length
    for (const provider of EMBEDDERS.slice(1)) {
      expect((await ollama.embed({ model: `${provider}/sim`, input })).embeddings).toEqual([])
      expect((await ollama.embeddings({ model: `${provider}/sim`, prompt: '' })).embedding).toEqual([])
    }
    expect(simulator.requests.length).toBe(asked)
  }
})

describe('on an upstream of Ollama', () => {
  const model = (name: string): string => `only_ollama/${name}`
  const parameters = { type: 'object', required: ['city'], properties: { city: { type: 'string' } } }

  test('the client of chat completions gets text, calls and thoughts', async () => {
    const client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const whole = await client.chat.completions.create({ model: model('sim'), messages })
    const stream = client.chat.completions.stream({ model: model('sim'), messages, stream_options: { include_usage: true } })
    const final = await stream.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    expect(final.usage?.prompt_tokens).toBe(12)
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }]
    const called = await client.chat.completions.stream({ model: model('sim-parallel'), messages, tools }).finalChatCompletion()
    expect(called.choices[0]?.finish_reason).toBe('tool_calls')
    const calls = called.choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(calls).toHaveLength(2)
    expect(JSON.parse(calls[0]?.function.arguments as string)).toHaveProperty('city')
    await client.chat.completions.create({
      model: model('sim-parallel'),
      messages: [
        ...messages,
        { role: 'assistant', tool_calls: calls },
        ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'warm' })),
      ],
      tools,
    })
    expect(last().messages).toMatchObject([{}, { tool_calls: [{}, {}] }, { role: 'tool', tool_name: 'get_weather', content: 'warm' }, {}])
    expect(last().stream).toBe(false)
  })

  test('the client of messages gets text, calls and thoughts', async () => {
    const client = new Anthropic({ apiKey: KEY, baseURL: gateway.url, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const whole = await client.messages.create({ model: model('sim'), max_tokens: 100, messages })
    const final = await client.messages.stream({ model: model('sim'), max_tokens: 100, messages }).finalMessage()
    expect(final.content).toEqual(whole.content)
    expect(final.usage.input_tokens).toBe(12)
    const thought = await client.messages
      .stream({ model: model('sim-reasoning'), max_tokens: 3000, messages, thinking: { type: 'enabled', budget_tokens: 2000 } })
      .finalMessage()
    expect(thought.content[0]).toMatchObject({ type: 'thinking', thinking: expect.stringMatching(/./) })
    expect(last()).toMatchObject({ think: 'medium', options: { num_predict: 3000 } })
    const tools = [{ name: 'get_weather', input_schema: { ...parameters, type: 'object' as const } }]
    const called = await client.messages.stream({ model: model('sim-parallel'), max_tokens: 100, messages, tools }).finalMessage()
    expect(called.stop_reason).toBe('tool_use')
    expect(called.content.filter(({ type }) => type === 'tool_use')).toMatchObject([{ input: { city: expect.any(String) } }, {}])
    await expect(
      client.messages.create({
        model: model('sim'),
        max_tokens: 9,
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }] },
        ],
      }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('does not accept files') })
    await expect(client.messages.create({ model: model('sim-status-429'), max_tokens: 9, messages })).rejects.toMatchObject({ status: 429 })
  })

  test('the clients of responses, of generate and of completions get text', async () => {
    const client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const whole = await client.responses.create({ model: model('sim'), input: 'Hello' })
    const final = await client.responses.stream({ model: model('sim'), input: 'Hello' }).finalResponse()
    expect(final.output_text).toBe(whole.output_text)
    expect(final.output_text).not.toBe('')
    const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } })
    const answer = await google.models.generateContent({ model: model('sim'), contents: 'Hello' })
    expect(answer.text).toBe(whole.output_text)
    let streamed = ''
    for await (const piece of await google.models.generateContentStream({ model: model('sim'), contents: 'Hello' }))
      streamed += piece.text ?? ''
    expect(streamed).toBe(whole.output_text)
    const completion = await client.completions.create({ model: model('sim'), prompt: ['Hello', 'Hello'] })
    expect(completion.choices.map(({ text }) => text)).toEqual([whole.output_text, whole.output_text])
  })
})
