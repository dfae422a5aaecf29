// The calls of upstreams in the log, and the headers that name who answered.

import { describe, expect, test } from 'vitest'
import { dialects } from './dialects.js'
import { ask, requestLines, SECRET, setUp } from './fake-upstreams.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

const { chat } = dialects
const good: Script = socket => json(socket, 200, chat.answer, 'x-request-id: req-of-the-good-one\r\n')
const refusing =
  (status: number, words = 'Told by the upstream.'): Script =>
  socket =>
    json(
      socket,
      status,
      { error: { message: words, type: 'server_error', code: null, param: null } },
      'x-request-id: req-of-the-bad-one\r\n',
    )
const time = expect.any(Number)

describe.concurrent('the log', () => {
  test('has each call with its target, result and duration', async () => {
    const { gateway } = await setUp([refusing(503, `No capacity for ${SECRET}.`), socket => socket.destroy(), good])
    expect((await ask(gateway)).status).toBe(200)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({
      status: 200,
      attempts: 3,
      target: 'up2/m',
      failed: [
        { target: 'up0/m', kind: 'overloaded', status: 503, request_id: 'req-of-the-bad-one', connect: time, headers: time },
        { target: 'up1/m', kind: 'upstream', connect: time },
      ],
      upstream: { status: 200, request_id: 'req-of-the-good-one', connect: time, headers: time },
    })
    const [refused, broken] = (line?.failed ?? []) as { cause: string; status?: number }[]
    expect(refused?.cause).toBe('up0/m answered 503: No capacity for ***.')
    expect(broken).not.toHaveProperty('status')
    expect(JSON.stringify(line)).not.toContain(SECRET)
  })

  test('has a proxy before an upstream that wants credentials, which concerns no caller', async () => {
    const { gateway } = await setUp([refusing(407), good])
    expect((await ask(gateway)).status).toBe(200)
    expect((await requestLines(gateway))[0]).toMatchObject({ failed: [{ target: 'up0/m', kind: 'upstream', status: 407 }] })
    const alone = await setUp([refusing(407)])
    expect((await ask(alone.gateway)).status).toBe(502)
  })

  test('has the same for the last call if all failed', async () => {
    const { gateway } = await setUp([refusing(500), refusing(429)])
    await ask(gateway)
    expect((await requestLines(gateway))[0]).toMatchObject({
      status: 429,
      failed: [{ target: 'up0/m', status: 500 }],
      upstream: { status: 429, request_id: 'req-of-the-bad-one' },
      error: { kind: 'rate_limit' },
    })
  })

  test("has the provider's request id, from its dialect's header", async () => {
    const answers: Script = socket => json(socket, 200, dialects.messages.answer, 'request-id: req-of-messages\r\n')
    const { gateway } = await setUp([answers], {}, 'anthropic')
    await ask(gateway)
    expect((await requestLines(gateway))[0]).toMatchObject({ upstream: { request_id: 'req-of-messages' } })
  })

  test('has the time of the first bytes of a stream', async () => {
    const { gateway } = await setUp([stream(chat.begin + chat.text('Hi'), chat.end)])
    await (await ask(gateway, { stream: true })).text()
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ upstream: { status: 200, headers: time, first_event: time } })
    const { headers = 0, first_event = 0 } = (line?.upstream ?? {}) as { headers?: number; first_event?: number }
    expect(first_event).toBeGreaterThanOrEqual(headers)
  })

  test.for<[string, Script[], boolean, number]>([
    ['an answer', [good], false, 30],
    ['a failure before another target answers', [refusing(500), good], false, 40],
    ['a failure', [refusing(500)], false, 40],
    ['a stream that broke', [socket => void socket.write(streamHead + chunk(chat.begin + chat.text('Hi')), () => socket.end())], true, 40],
    ['a refusal of a request', [refusing(400)], false, 30],
  ])('%s', async ([, scripts, streams, level]) => {
    const { gateway } = await setUp(scripts)
    await (await ask(gateway, { stream: streams })).text()
    expect((await requestLines(gateway))[0]).toMatchObject({ level })
  })

  test("keeps the client's own id of the request beside ours", async () => {
    const { gateway } = await setUp([good])
    const response = await ask(gateway, { headers: { 'x-request-id': 'mine-1' } })
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ client_id: 'mine-1', id: response.headers.get('x-request-id') })
    expect(line?.id).not.toBe('mine-1')
    await ask(gateway, { headers: { 'x-request-id': `${'y'.repeat(500)}` } })
    expect((await requestLines(gateway, 2))[1]).toMatchObject({ client_id: 'y'.repeat(128) })
    await ask(gateway)
    expect((await requestLines(gateway, 3))[2]).not.toHaveProperty('client_id')
  })
})

describe.concurrent('an answer', () => {
  const asked = async (scripts: Script[], more: Record<string, unknown>, streams = false): Promise<(string | null)[]> => {
    const { gateway } = await setUp(scripts, more)
    const response = await ask(gateway, { stream: streams })
    await response.text()
    return [response.headers.get('x-sluice-target'), response.headers.get('x-sluice-attempts')]
  }
  const both = { expose: ['target', 'attempts'] }

  test('names its target and the number of attempts, if `expose` says so', async () => {
    expect(await asked([refusing(500), good], both)).toEqual(['up1/m', '2'])
    expect(await asked([stream(chat.begin, chat.end)], both, true)).toEqual(['up0/m', '1'])
    expect(await asked([refusing(500), refusing(503)], both)).toEqual(['up1/m', '2'])
    expect(await asked([good], { expose: ['attempts'] })).toEqual([null, '1'])
  })

  test('names neither otherwise, or if no upstream was called', async () => {
    expect(await asked([refusing(500), good], {})).toEqual([null, null])
    const { gateway } = await setUp([good], both)
    const response = await ask(gateway, { model: 'nobody' })
    expect([response.headers.get('x-sluice-target'), response.headers.get('x-sluice-attempts')]).toEqual([null, null])
  })
})
