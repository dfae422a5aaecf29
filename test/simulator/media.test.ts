// The simulator's media: answers that are valid by the project's own schemas, tasks that advance with each query, ranges of
// files, and descriptions of forms.

import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { digestOf } from '../../cli/simulator/content.js'
import { type Simulator, startSimulator } from '../../cli/simulator/server.js'
import { events } from './requests.js'
import { wrong } from './schemas.js'

let simulator: Simulator
beforeAll(async () => {
  // Forms of a megabyte and more are recorded without their data, which the schemas require.
  simulator = await startSimulator({
    record: true,
    validate: (dialect, body) => (['transcription', 'translation'].includes(dialect) ? undefined : wrong(dialect, 'request', body)),
  })
})
beforeEach(() => {
  simulator.requests.length = 0
})
afterAll(() => simulator?.close())

const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(simulator.url + path, {
    method,
    headers,
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  })

async function good(dialect: string, answer: Promise<Response>) {
  const found = await answer
  const body = (await found.json()) as { id: string; status: string; data: { task_id: string; status: string; task_status: string } }
  expect(found.status, JSON.stringify(body)).toBe(200)
  expect(wrong(dialect, 'response', body)).toBeUndefined()
  return body
}

function form(fields: Record<string, string>, files: [string, Buffer<ArrayBuffer>, string][]): FormData {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  for (const [name, data, filename] of files) made.append(name, new Blob([data]), filename)
  return made
}

describe('images', () => {
  test('whole and streamed', async () => {
    await good('images', ask('POST', '/v1/images/generations', { model: 'sim', prompt: 'x', n: 2 }))
    const stream = await ask('POST', '/v1/images/generations', { model: 'sim', prompt: 'x', stream: true, partial_images: 2 })
    const found = events(await stream.text())
    expect(found.map(({ event }) => event)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    for (const { data } of found) expect(wrong('images', 'event', JSON.parse(data))).toBeUndefined()
  })

  test('edits as a form and as JSON', async () => {
    const [first, second] = [randomBytes(10), randomBytes(2_000_000)]
    await good(
      'image_edit',
      ask(
        'POST',
        '/v1/images/edits',
        form({ model: 'sim', prompt: 'x', n: '2' }, [
          ['image[]', first, 'a.png'],
          ['image[]', second, 'b.png'],
        ]),
      ),
    )
    expect(simulator.requests[0]?.parts?.slice(-2).map(({ name, filename, size, sha256 }) => [name, filename, size, sha256])).toEqual(
      [first, second].map((data, index) => ['image[]', `${'ab'[index]}.png`, data.length, createHash('sha256').update(data).digest('hex')]),
    )
    expect(simulator.requests[0]?.body).toBe('')
    await good('image_edit', ask('POST', '/v1/images/edits', { model: 'sim', prompt: 'x', images: [{ image_url: 'https://example.com' }] }))
  })
})

describe('audio', () => {
  test('a file has the length in its name and always the same bytes, also in ranges', async () => {
    const speak = (range?: string) =>
      ask('POST', '/v1/audio/speech', { model: 'sim-200k', input: 'x', voice: 'v' }, range === undefined ? {} : { range })
    const whole = Buffer.from(await (await speak()).arrayBuffer())
    expect(createHash('sha256').update(whole).digest('hex')).toBe(digestOf(200_000))
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=70000-140000', 70_000, 140_001],
      ['bytes=199999-', 199_999, 200_000],
      ['bytes=-5', 199_995, 200_000],
      ['bytes=5-900000', 5, 200_000],
    ] as const) {
      const part = await speak(range)
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/200000`])
      expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(from, to)), range).toBe(true)
    }
    const none = await speak('bytes=200000-')
    expect([none.status, none.headers.get('content-range')]).toEqual([416, 'bytes */200000'])
  })

  test('a file that breaks off has the length of the whole', async () => {
    const cut = await ask('POST', '/v1/audio/speech', { model: 'sim-200k-cut-1', input: 'x', voice: 'v' })
    expect(cut.headers.get('content-length')).toBe('200000')
    await expect(cut.arrayBuffer()).rejects.toThrow()
  })

  test('transcripts', async () => {
    const recording: [string, Buffer<ArrayBuffer>, string] = ['file', randomBytes(50), 'a.wav']
    await good(
      'transcription',
      ask('POST', '/v1/audio/transcriptions', form({ model: 'sim', response_format: 'verbose_json' }, [recording])),
    )
    await good('translation', ask('POST', '/v1/audio/translations', form({ model: 'sim' }, [recording])))
    const stream = await ask('POST', '/v1/audio/transcriptions', form({ model: 'sim-3', stream: 'true' }, [recording]))
    const found = events(await stream.text())
    expect(found).toHaveLength(4)
    for (const { data } of found) expect(wrong('transcription', 'event', JSON.parse(data))).toBeUndefined()
    const subtitles = await ask('POST', '/v1/audio/transcriptions', form({ model: 'sim', response_format: 'vtt' }, [recording]))
    expect([subtitles.headers.get('content-type'), (await subtitles.text()).slice(0, 6)]).toEqual(['text/vtt', 'WEBVTT'])
  })
})

describe('tasks', () => {
  test('a video advances with each query, and has its content at the end', async () => {
    const { id } = await good('video', ask('POST', '/v1/videos', { model: 'sim-polls-3', prompt: 'x' }))
    const states: string[] = []
    for (let look = 0; look < 4; look++) {
      if (look < 3) expect((await ask('GET', `/v1/videos/${id}/content`)).status).toBe(404)
      states.push((await good('video_status', ask('GET', `/v1/videos/${id}`))).status)
    }
    expect(states).toEqual(['in_progress', 'in_progress', 'completed', 'completed'])
    expect((await (await ask('GET', `/v1/videos/${id}/content`)).arrayBuffer()).byteLength).toBe(100_000)
    const remix = await good('video_remix', ask('POST', `/v1/videos/${id}/remix`, { prompt: 'y' }))
    expect(remix).toMatchObject({ remixed_from_video_id: id, status: 'queued' })
    await good('video_list', ask('GET', '/v1/videos?limit=1'))
    await good('video_delete', ask('DELETE', `/v1/videos/${id}`))
    expect((await ask('GET', `/v1/videos/${id}`)).status).toBe(404)
    expect((await ask('POST', '/v1/videos', { model: 'sim-status-429', prompt: 'x' })).status).toBe(429)
  })

  test.each(['text2video', 'image2video'])('Kling: %s', async kind => {
    const made = await good(`kling_${kind}`, ask('POST', `/v1/videos/${kind}`, { model_name: 'sim-failed-polls-1', image: 'iVBO' }))
    const found = await good(`kling_${kind}_status`, ask('GET', `/v1/videos/${kind}/${made.data.task_id}`))
    expect(found.data.task_status).toBe('failed')
  })

  test('Jimeng', async () => {
    const made = await good('jimeng_submit', ask('POST', '/?Action=CVSync2AsyncSubmitTask', { req_key: 'sim-20k-polls-1', prompt: 'x' }))
    const found = await good('jimeng_result', ask('POST', '/?Action=CVSync2AsyncGetResult', { req_key: 'sim', task_id: made.data.task_id }))
    expect(found.data).toMatchObject({ status: 'done', video_url: `${simulator.url}/files/sim-20k-polls-1` })
    expect((await (await ask('GET', '/files/sim-20k-polls-1')).arrayBuffer()).byteLength).toBe(20_000)
  })
})

describe('responses that are kept', () => {
  test('every id is one', async () => {
    await good('response_get', ask('GET', '/v1/responses/resp_1'))
    await good('response_cancel', ask('POST', '/v1/responses/resp_1/cancel'))
    await good('response_input_items', ask('GET', '/v1/responses/resp_1/input_items'))
    await good('response_delete', ask('DELETE', '/v1/responses/resp_1'))
    const found = events(await (await ask('GET', '/v1/responses/resp_1?stream=true')).text())
    expect(found.map(({ event }) => event)).toEqual(['response.created', 'response.output_text.delta', 'response.completed'])
  })
})

describe('sockets', () => {
  const open = (
    model: string,
    protocols: string[] = [],
  ): Promise<{ socket: WebSocket; frames: (string | number)[]; closed: Promise<number> }> => {
    const socket = new WebSocket(`${simulator.url.replace('http', 'ws')}/v1/realtime?model=${model}`, protocols)
    const frames: (string | number)[] = []
    socket.on('message', (data, isBinary) => frames.push(isBinary ? (data as Buffer).length : data.toString()))
    const closed = new Promise<number>(resolve => socket.on('close', resolve))
    return new Promise((resolve, reject) => {
      socket.on('open', () => resolve({ socket, frames, closed }))
      socket.on('error', reject)
    })
  }

  test('what it knows is replied to, all else comes back, and what came is kept', async () => {
    const { socket, frames } = await open('sim-2', ['realtime'])
    expect(socket.protocol).toBe('realtime')
    socket.send('anything')
    socket.send(Buffer.alloc(7), { binary: true })
    socket.send('{"type":"response.create"}')
    await expect.poll(() => frames.length).toBe(7)
    expect(frames.slice(1, 3)).toEqual(['anything', 7])
    expect(frames.slice(3).map(frame => JSON.parse(String(frame)).type)).toEqual([
      'response.created',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.done',
    ])
    socket.close(4000)
    await expect.poll(() => simulator.requests[0]).toMatchObject({ closed: 4000, frames: ['anything', 7, '{"type":"response.create"}'] })
  })

  test('bytes by the million, a code, a break, refusals', async () => {
    const much = await open('sim-5m')
    much.socket.send('begin')
    const received = (): number => much.frames.reduce<number>((sum, frame) => sum + (typeof frame === 'number' ? frame : 0), 0)
    await expect.poll(received).toBe(5_000_000)
    much.socket.terminate()
    for (const [model, code] of [
      ['sim-close-4321', 4321],
      ['sim-cut-0', 1006],
    ] as const) {
      const { socket, closed } = await open(model)
      socket.send('x')
      expect(await closed).toBe(code)
    }
    await expect(open('sim-status-401')).rejects.toThrow('401')
    await expect(open('nobody')).rejects.toThrow('404')
  })
})
