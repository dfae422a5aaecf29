// The official OpenAI client, images, with a provider of images and with one that makes them in a conversation.

import { createHash, randomBytes } from 'node:crypto'
import OpenAI, { APIError, toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'

/** How files of these kinds begin. */
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const JPEG = Buffer.from('ffd8ffe0', 'hex')
const PROVIDERS = ['openai', 'gemini']
const NAMES = ['sim', 'sim-filter', 'sim-status-400', 'sim-status-429', 'sim-status-500', 'sim-fail-1', 'sim-cut-1']
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway(simulated(simulator.url, NAMES, PROVIDERS))
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
})
beforeEach(() => {
  simulator.requests.length = 0
  gateway.log.length = 0
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const PIXEL = /^iVBORw0KGgo/

describe.each(PROVIDERS)('image client on %s', provider => {
  const model = (name: string): string => `${provider}/${name}`

  test('an image, with what it cost', async () => {
    const answer = await client.images.generate({ model: model('sim'), prompt: 'A lighthouse', size: '1536x1024' })
    expect(answer.data).toHaveLength(1)
    expect(answer.data?.[0]?.b64_json).toMatch(PIXEL)
    expect(answer.usage).toMatchObject({ input_tokens: 12, output_tokens: 14, total_tokens: 26 })
    await expect
      .poll(() => gateway.log.findLast(line => line.msg === 'request'))
      .toMatchObject({ usage: { input: 12, output: 14 }, status: 200 })
  })

  test('three images are three', async () => {
    const { data } = await client.images.generate({ model: model('sim'), prompt: 'A lighthouse', n: 3 })
    expect(data?.map(image => PIXEL.test(image.b64_json ?? ''))).toEqual([true, true, true])
  })

  test('a stream ends with the finished image', async () => {
    const events = []
    for await (const event of await client.images.generate({
      model: model('sim'),
      prompt: 'A lighthouse',
      stream: true,
      partial_images: 2,
    }))
      events.push(event)
    expect(events.slice(0, -1).every(event => event.type === 'image_generation.partial_image')).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'image_generation.completed', b64_json: expect.stringMatching(PIXEL) })
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 12, output_tokens: 14 } })
  })

  test('a stream of three images has three, of a generation and of an edit', async () => {
    const completed = async (stream: AsyncIterable<{ type: string }>): Promise<number> => {
      let count = 0
      for await (const { type } of stream) if (type.endsWith('.completed')) count++
      return count
    }
    const asked = { model: model('sim'), prompt: 'A lighthouse', n: 3, stream: true, partial_images: 1 } as const
    const edit = { ...asked, image: await toFile(PNG, 'a.png', { type: 'image/png' }) }
    // A provider that makes one image for each request cannot stream several.
    if (provider === 'gemini') {
      const refused = { status: 400, message: expect.stringContaining('cannot be streamed') }
      await expect(client.images.generate(asked)).rejects.toMatchObject(refused)
      await expect(client.images.edit(edit)).rejects.toMatchObject(refused)
      return
    }
    expect(await completed(await client.images.generate(asked))).toBe(3)
    expect(await completed(await client.images.edit(edit))).toBe(3)
    const lines = () =>
      gateway.log
        .filter(line => line.msg === 'request')
        .slice(-2)
        .map(line => line.usage)
    await expect.poll(lines).toMatchObject([
      { input: 36, output: 42 },
      { input: 36, output: 42 },
    ])
  })

  test('a stream that breaks off is no image', async () => {
    const events: string[] = []
    const read = async (): Promise<void> => {
      const request = { model: model('sim-cut-1'), prompt: 'x', stream: true as const, partial_images: 3 }
      for await (const event of await client.images.generate(request)) events.push(event.type)
    }
    await expect(read()).rejects.toThrow()
    expect(events).not.toContain('image_generation.completed')
  })

  test('edits of two files of megabytes: every byte arrives', async () => {
    const [day, night] = [Buffer.concat([PNG, randomBytes(3_000_000)]), Buffer.concat([JPEG, randomBytes(2_000_001)])]
    const answer = await client.images.edit({
      model: model('sim'),
      prompt: 'Put one into the other',
      image: [await toFile(day, 'day.png', { type: 'image/png' }), await toFile(night, 'näh "te".jpg', { type: 'image/jpeg' })],
    })
    expect(answer.data?.[0]?.b64_json).toMatch(PIXEL)
    const [asked] = simulator.requests
    if (provider === 'openai') {
      expect(asked?.parts?.map(({ name, filename, type, sha256 }) => [name, filename, type, sha256])).toEqual([
        ['model', undefined, undefined, sha256(Buffer.from('sim'))],
        ['prompt', undefined, undefined, sha256(Buffer.from('Put one into the other'))],
        ['image[]', 'day.png', 'image/png', sha256(day)],
        ['image[]', 'näh %22te%22.jpg', 'image/jpeg', sha256(night)],
      ])
    } else {
      const { contents } = JSON.parse(asked?.body ?? '{}')
      expect(contents[0].parts).toHaveLength(3)
      expect(contents[0].parts[0].inlineData).toEqual({ mimeType: 'image/png', data: day.toString('base64') })
      expect(contents[0].parts[1].inlineData).toEqual({ mimeType: 'image/jpeg', data: night.toString('base64') })
      expect(contents[0].parts[2]).toEqual({ text: 'Put one into the other' })
    }
  })

  test('a picture without a file name is a file all the same', async () => {
    const night = Buffer.concat([PNG, randomBytes(2_000_000)])
    const part = (name: string, more = ''): string => `--XX\r\ncontent-disposition: form-data; name="${name}"\r\n${more}\r\n`
    const answer = await fetch(`${gateway.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=XX' },
      body: Buffer.concat([
        Buffer.from(`${part('model')}${model('sim')}\r\n${part('prompt')}x\r\n${part('image', 'content-type: image/png\r\n')}`),
        night,
        Buffer.from('\r\n--XX--\r\n'),
      ]),
    })
    expect(answer.status, await answer.text()).toBe(200)
    const [asked] = simulator.requests
    if (provider === 'openai') {
      expect(asked?.parts?.find(({ name }) => name === 'image')).toEqual({
        name: 'image',
        type: 'image/png',
        size: night.length,
        sha256: sha256(night),
      })
    } else {
      const { contents } = JSON.parse(asked?.body ?? '{}')
      expect(contents[0].parts[0].inlineData).toEqual({ mimeType: 'image/png', data: night.toString('base64') })
    }
  })

  test('an edit as a stream, and by its other name', async () => {
    const image = await toFile(PNG, 'a.png', { type: 'image/png' })
    const events: string[] = []
    for await (const event of await client.images.edit({ model: model('sim'), prompt: 'x', image, stream: true })) events.push(event.type)
    expect(events.at(-1)).toBe('image_edit.completed')
    const other = await client.post<OpenAI.ImagesResponse>('/edits', {
      body: { model: model('sim'), prompt: 'x', images: [{ image_url: 'data:image/png;base64,iVBO' }] },
    })
    expect(other.data?.[0]?.b64_json).toMatch(PIXEL)
  })

  test('errors in the words of the dialect', async () => {
    const ask = (name: string) => client.images.generate({ model: model(name), prompt: 'x' })
    await expect(ask('sim-status-400')).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' })
    await expect(ask('sim-status-429')).rejects.toMatchObject({ status: 429, type: 'rate_limit_error' })
    await expect(ask('sim-status-500')).rejects.toMatchObject({ status: provider === 'openai' ? 500 : 502, type: 'server_error' })
    await expect(ask('nobody')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
    await expect(
      client.images.edit({ model: 'nobody', prompt: 'x', image: await toFile(Buffer.from('x'), 'x.png') }),
    ).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
  })
})

describe('what only the mapping says', () => {
  test('a size is a proportion, and what is dropped is named', async () => {
    const { response } = await client.images
      .generate({ model: 'gemini/sim', prompt: 'x', size: '1792x1024', quality: 'hd', response_format: 'url', style: 'vivid' })
      .withResponse()
    expect(JSON.parse(simulator.requests[0]?.body ?? '{}').generationConfig).toEqual({
      responseModalities: ['IMAGE'],
      imageConfig: { aspectRatio: '16:9' },
    })
    expect(response.headers.get('x-sluice-dropped')?.split(', ').sort()).toEqual(['quality', 'response_format', 'style'])
  })

  test('a picture that was refused is an error, whole and streamed', async () => {
    const refused = { status: 400, code: 'moderation_blocked', param: 'prompt' }
    await expect(client.images.generate({ model: 'gemini/sim-filter', prompt: 'x', n: 2 })).rejects.toMatchObject({ status: 400 })
    simulator.scenario('sim-filter', { body: { promptFeedback: { blockReason: 'SAFETY' } } })
    await expect(client.images.generate({ model: 'gemini/sim-filter', prompt: 'x' })).rejects.toMatchObject(refused)
    const read = async (): Promise<void> => {
      simulator.scenario('sim-filter', { events: [{ promptFeedback: { blockReason: 'SAFETY' } }] })
      for await (const _ of await client.images.generate({ model: 'gemini/sim-filter', prompt: 'x', stream: true }));
    }
    await expect(read()).rejects.toThrow(APIError)
  })

  test('a mask, a file that is elsewhere, and a stream of several are refused by name', async () => {
    const image = await toFile(PNG, 'a.png')
    const mask = await toFile(Buffer.from('m'), 'm.png')
    await expect(client.images.edit({ model: 'gemini/sim', prompt: 'x', image, mask })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'mask',
    })
    await expect(
      client.post('/images/edits', { body: { model: 'gemini/sim', prompt: 'x', images: [{ file_id: 'f' }] } }),
    ).rejects.toMatchObject({ param: 'images[].file_id' })
    await expect(client.images.generate({ model: 'gemini/sim', prompt: 'x', n: 2, stream: true })).rejects.toMatchObject({
      param: 'stream',
    })
    expect(simulator.requests).toEqual([])
  })

  test('bytes that are no PNG are called so', async () => {
    const image = await toFile(Buffer.from('words'), 'a.png', { type: 'image/png' })
    await expect(client.images.edit({ model: 'gemini/sim', prompt: 'x', image })).rejects.toMatchObject({
      status: 400,
      param: 'image.data',
      message: expect.stringContaining('the bytes of an image do not match its type (no image/png)'),
    })
    expect(simulator.requests).toEqual([])
  })
})

test('variations are not implemented, whatever comes', async () => {
  await expect(client.images.createVariation({ image: await toFile(randomBytes(1000), 'a.png') })).rejects.toMatchObject({
    status: 501,
    code: 'not_implemented',
  })
})
