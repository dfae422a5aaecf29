// Images, audio, video and files that a model does not accept: another target is tried, or the request is refused by name
// before any call. The simulator refuses them as well.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

const PNG = 'iVBORw0KGgo='
const JPEG = '/9j/4AAQSkZJRg=='
/** More than a body that is parsed whole. */
const LARGE = `iVBORw0KGgo${'A'.repeat(120_001)}`

type Body = Record<string, unknown>

/** A client's request with a picture, or something else, for each dialect. */
const CLIENTS = {
  chat: {
    path: () => '/v1/chat/completions',
    member: 'messages[].content[].image_url',
    body: (model: string, pictures: string[]) => ({
      model,
      messages: [
        {
          role: 'user',
          content: pictures.map((data, at) => {
            const url = data.startsWith('https:') ? data : `data:${typeOf(data)};base64,${data}`
            return { type: 'image_url', image_url: at % 2 === 0 ? { url } : url }
          }),
        },
      ],
    }),
  },
  messages: {
    path: () => '/v1/messages',
    member: 'messages[].content[].source',
    body: (model: string, pictures: string[]) => ({
      model,
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: pictures.map(data => ({
            type: 'image',
            source: data.startsWith('https:') ? { type: 'url', url: data } : { type: 'base64', media_type: typeOf(data), data },
          })),
        },
      ],
    }),
  },
  responses: {
    path: () => '/v1/responses',
    member: 'input[].content[].image_url',
    body: (model: string, pictures: string[]) => ({
      model,
      input: [
        {
          role: 'user',
          content: pictures.map(data => ({
            type: 'input_image',
            image_url: data.startsWith('https:') ? data : `data:${typeOf(data)};base64,${data}`,
          })),
        },
      ],
    }),
  },
  generate: {
    path: (model: string) => `/v1beta/models/${model}:generateContent`,
    member: 'contents[].parts[].inlineData',
    body: (_: string, pictures: string[]) => ({
      contents: [
        {
          role: 'user',
          parts: pictures.map((data, at) =>
            data.startsWith('https:')
              ? { fileData: { mimeType: 'image/png', fileUri: data } }
              : at % 2 === 0
                ? { inlineData: { mimeType: typeOf(data), data } }
                : { inline_data: { mime_type: typeOf(data), data } },
          ),
        },
      ],
    }),
  },
  ollama: {
    path: () => '/api/chat',
    member: 'messages[].images',
    body: (model: string, pictures: string[]) => ({ model, stream: false, messages: [{ role: 'user', content: 'a', images: pictures }] }),
  },
  ollama_generate: {
    path: () => '/api/generate',
    member: 'images',
    body: (model: string, pictures: string[]) => ({ model, stream: false, prompt: 'a', images: pictures }),
  },
}

/** The same with words alone. */
const WORDS: Readonly<Record<string, Body>> = {
  responses: { input: 'a' },
  generate: { contents: [{ parts: [{ text: 'a' }] }] },
  chat: { messages: [{ role: 'user', content: 'a' }] },
  messages: { messages: [{ role: 'user', content: 'a' }] },
}

function typeOf(data: string): string {
  return data.startsWith('/9j/') ? 'image/jpeg' : 'image/png'
}

/** The models of the gateway: what is known of each, and the providers that serve it. */
const MODELS: Readonly<Record<string, { traits?: Body; upstreams?: string[] }>> = {
  blind: { traits: { images: false } },
  png: { traits: { images: { kinds: ['image/png'] } } },
  two: { traits: { images: { most: 2 } } },
  small: { traits: { images: { bytes: 100_000 } } },
  deaf: { traits: { audio: false, video: false, files: false } },
  wav: { traits: { audio: { kinds: ['audio/wav'] }, files: { kinds: ['application/pdf'] } } },
  'blind.anthropic': { traits: { images: false }, upstreams: ['anthropic'] },
  'gpt-4o-mini-audio-preview-sim': {},
  sim: {},
}

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  const providers = ['openai', 'anthropic']
  gateway = await startGateway({
    upstreams: Object.fromEntries(providers.map(provider => [provider, { provider, base: simulator.url, secret: 'none' }])),
    models: {
      ...Object.fromEntries(
        Object.entries(MODELS).map(([name, { traits, upstreams = ['openai'] }]) => [
          name,
          { ...(traits && { traits }), targets: upstreams.map(upstream => ({ upstream, model: name.endsWith('-sim') ? name : 'sim' })) },
        ]),
      ),
      either: {
        targets: [
          { upstream: 'openai', model: 'sim-1', traits: { images: false } },
          { upstream: 'anthropic', model: 'sim-2', priority: 2 },
        ],
      },
      neither: {
        targets: [
          { upstream: 'openai', model: 'sim', traits: { images: false } },
          { upstream: 'anthropic', model: 'sim', priority: 2, traits: { images: false } },
        ],
      },
      broken: {
        targets: [
          { upstream: 'openai', model: 'sim-status-503' },
          { upstream: 'anthropic', model: 'sim', priority: 2, traits: { images: false } },
        ],
      },
    },
    log: { access: false },
  })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

interface Told {
  status: number
  param: string | undefined
  message: string
  asked: string[]
}

async function ask(path: string, body: object): Promise<Told> {
  simulator.requests.length = 0
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { error } = (await response.json()) as { error?: string | { param?: string; message: string } }
  const said = typeof error === 'string' ? { message: error } : error
  return {
    status: response.status,
    param: said?.param,
    message: said?.message ?? '',
    asked: simulator.requests.map(one => (JSON.parse(one.body) as { model: string }).model ?? one.path),
  }
}

describe.each(Object.entries(CLIENTS))('%s', (dialect, { path, body, member }) => {
  const send = (model: string, ...pictures: string[]): Promise<Told> => ask(path(model), body(model, pictures))

  test('a model that accepts no images is not called, and the error names the member', async () => {
    for (const model of ['blind', 'blind.anthropic']) {
      const told = await send(model, PNG)
      expect([told.status, told.asked]).toEqual([400, []])
      expect(told.message).toBe(`Unsupported parameter: '${member}' cannot be served by this model: it takes no images.`)
      if (dialect === 'chat' || dialect === 'responses') expect(told.param).toBe(member)
    }
  })

  test('images of a wrong kind, too many and too large ones are refused, and others pass', async () => {
    const refusals = [
      await send('png', PNG, JPEG),
      await send('png', LARGE, JPEG),
      await send('two', PNG, PNG, PNG),
      await send('small', PNG, PNG.repeat(20_000)),
    ]
    expect(refusals.map(({ status, asked }) => [status, asked.length])).toEqual(refusals.map(() => [400, 0]))
    const because = refusals.map(({ message }) => message.slice(message.indexOf('model: ') + 7))
    if (!dialect.startsWith('ollama')) {
      expect(because[0]).toBe('of images it takes image/png, and not image/jpeg.')
      expect(because[1]).toBe(because[0])
    }
    expect(because[2]).toBe('it takes 2 images at most, and not 3.')
    expect(because[3]).toMatch(/^it takes images of 100000 bytes at most, and not of \d{6}\.$/)
    for (const told of [
      await send('png', PNG, LARGE),
      await send('two', PNG, JPEG),
      await send('small', LARGE.slice(0, 120_000)),
      await send('sim', PNG, JPEG),
    ])
      expect([told.status, told.asked.length, told.message]).toEqual([200, 1, ''])
  })

  test('the target that accepts images is called', async () => {
    const words = await ask(path('either'), { ...body('either', []), ...WORDS[dialect] })
    const [picture, nobody, failed] = [await send('either', PNG), await send('neither', PNG), await send('broken', PNG)]
    expect(words.asked).toEqual(['sim-1'])
    expect([picture.status, picture.asked]).toEqual([200, ['sim-2']])
    expect([nobody.status, nobody.asked]).toEqual([400, []])
    // A temporary failure is reported rather than a permanent one.
    expect(failed.status).toBe(dialect === 'messages' ? 529 : 503)
  })
})

const turn = (part: object): Body => ({ messages: [{ role: 'user', content: [part] }] })
const SOUND = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'mp3' } }
const FILE = { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' } }
const FILM = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }

test.each([
  [SOUND, 'messages[].content[].input_audio', 'it takes no audio.', 'of audio it takes audio/wav, and not audio/mpeg.'],
  [FILE, 'messages[].content[].file', 'it takes no files.', 'of files it takes application/pdf, and not text/plain.'],
  [FILM, 'messages[].content[].video_url', 'it takes no video.', undefined],
])('%o', async (part, member, none, kind) => {
  const deaf = await ask('/v1/chat/completions', { model: 'deaf', ...turn(part) })
  expect([deaf.status, deaf.param, deaf.asked]).toEqual([400, member, []])
  expect(deaf.message).toContain(none)
  const some = await ask('/v1/chat/completions', { model: 'wav', ...turn(part) })
  if (kind === undefined) return expect(some.status).toBe(200)
  expect([some.status, some.param]).toEqual([400, member])
  expect(some.message).toContain(kind)
})

test('a model does not get what it does not accept by the catalogue, and the simulator refuses it, too', async () => {
  const body = CLIENTS.chat.body('gpt-4o-mini-audio-preview-sim', [PNG])
  const told = await ask('/v1/chat/completions', body)
  expect([told.status, told.param, told.asked]).toEqual([400, CLIENTS.chat.member, []])
  const answer = await fetch(`${simulator.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'messages' } }])
})
