// What the simulator does to its connections: its failures must be real ones.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Script, type Simulator, startSimulator } from '../../cli/simulator/server.js'
import { type Ask, ask, asks, type Event, events, type Heard, listen, post } from './requests.js'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ record: true })
})
afterAll(() => simulator?.close())

const chat = ask('chat')

async function streamed(dialect: string, model: string): Promise<string> {
  return (await post(simulator.url, ask(dialect), model, true)).text()
}

/** What two scripts bring under one name, because a name is part of the bytes. */
async function heardOf(one: Ask, first: Script, second: Script): Promise<[Heard, Heard]> {
  simulator.scenario('same', [first, second])
  return [await listen(simulator.url, one, 'same'), await listen(simulator.url, one, 'same')]
}

async function eventsOf(one: Ask, first: Script, second: Script): Promise<[Event[], Event[]]> {
  simulator.scenario('same', [first, second])
  return [events(await streamed(one.dialect, 'same')), events(await streamed(one.dialect, 'same'))]
}

describe.each(asks)('$dialect', one => {
  test('an error in the stream after two events, and nothing after it', async () => {
    const [good, found] = await eventsOf(one, {}, { fail_after: 2 })
    expect(found).toHaveLength(3)
    expect(found.slice(0, 2)).toEqual(good.slice(0, 2))
    expect(found[2]?.data).toContain('"message":"The simulator answers 500, as its scenario says."')
  })

  test('a socket destroyed after two events', async () => {
    const [whole, cut] = await heardOf(one, {}, { cut_after: 2 })
    expect([whole.closed, cut.closed]).toEqual(['ended', 'reset'])
    expect(events(unchunked(cut.text))).toEqual(events(unchunked(whole.text)).slice(0, 2))
    await expect(streamed(one.dialect, 'sim-cut-2')).rejects.toThrow()
  })

  test('a socket destroyed in the middle of an event', async () => {
    const [whole, torn] = await heardOf(one, {}, { torn_after: 2 })
    expect(torn.closed).toBe('reset')
    const [all, half] = [unchunked(whole.text), unchunked(torn.text)]
    expect(all.startsWith(half)).toBe(true)
    expect(half.split('\n\n')).toHaveLength(3)
    expect(half.endsWith('\n')).toBe(false)
  })

  test('silence after two events', async () => {
    const stalled = await listen(simulator.url, one, 'sim-stall-2', 300)
    expect(stalled.closed).toBe('no')
    expect(events(unchunked(stalled.text))).toHaveLength(2)
  })

  test('silence after the headers', async () => {
    const abort = new AbortController()
    const answer = await post(simulator.url, one, 'sim-stall-0', true, abort.signal)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    const first = answer.body?.getReader().read()
    expect(await Promise.race([first, wait(150)])).toBe('waited')
    abort.abort()
    await expect(first).rejects.toThrow()
  })

  test('broken JSON in the second event, and the rest as ever', async () => {
    const [good, bad] = await eventsOf(one, {}, { malformed_at: 2 })
    expect(bad).toHaveLength(good.length)
    expect(bad.map(({ event }) => event)).toEqual(good.map(({ event }) => event))
    expect(bad.findIndex(({ data }, index) => data !== good[index]?.data)).toBe(1)
    expect(() => JSON.parse(bad[1]?.data ?? '') as unknown).toThrow(SyntaxError)
  })

  test('no event that proves the end', async () => {
    const [good, bad] = await eventsOf(one, {}, { no_end: true })
    expect(bad.length).toBeLessThan(good.length)
    expect(bad).toEqual(good.slice(0, bad.length))
    expect(JSON.stringify(bad)).not.toMatch(/DONE|message_stop|finishReason|response.completed|\\"finish_reason\\":\\"/)
  })

  test('an answer that is no stream, cut and stalled and broken', async () => {
    await expect(post(simulator.url, one, 'sim-cut-1').then(answer => answer.text())).rejects.toThrow()
    await expect(post(simulator.url, one, 'sim-torn-1').then(answer => answer.json())).rejects.toThrow()
    await expect(post(simulator.url, one, 'sim-cut-0').then(answer => answer.text())).rejects.toThrow()
    await expect(post(simulator.url, one, 'sim-stall-1', false, AbortSignal.timeout(150)).then(answer => answer.text())).rejects.toThrow()
    await expect(post(simulator.url, one, 'sim-malformed-1').then(answer => answer.json())).rejects.toThrow(SyntaxError)
    expect((await post(simulator.url, one, 'sim-fail-1')).status).toBe(500)
  })
})

test('a page of HTML', async () => {
  const answer = await post(simulator.url, chat, 'sim-html', true)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'text/html'])
  expect(await answer.text()).toContain('<h1>502 Bad Gateway</h1>')
})

test('many events in one write, one in a write of its own, one in many writes', async () => {
  const [one, each] = await heardOf(chat, {}, { pace: 0 })
  const [, split] = await heardOf(chat, {}, { split: 100 })
  expect(chunks(one.text)).toHaveLength(1)
  expect(chunks(each.text)).toHaveLength(events(unchunked(each.text)).length)
  expect(
    new Set(
      chunks(split.text)
        .slice(0, -1)
        .map(chunk => chunk.length),
    ),
  ).toEqual(new Set([100]))
  for (const other of [each, split]) expect(unchunked(other.text)).toBe(unchunked(one.text))
})

test('characters cut in two', async () => {
  const heard = await listen(simulator.url, chat, 'sim-utf8-split-5')
  expect(chunks(heard.text).some(chunk => Buffer.from(chunk, 'latin1').toString().includes('\uFFFD'))).toBe(true)
  expect(
    events(await streamed('chat', 'sim-utf8-split-5'))
      .map(({ data }) => data)
      .join(''),
  ).toContain('🏳️‍🌈')
})

test('lines that end in CR LF', async () => {
  simulator.scenario('same', { line_end: 'crlf' })
  const crlf = await streamed('messages', 'same')
  simulator.scenario('same', {})
  expect(crlf.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(crlf.replaceAll('\r\n', '\n')).toBe(await streamed('messages', 'same'))
})

test('signs of life', async () => {
  expect(await streamed('chat', 'sim-alive')).toMatch(/^: keep-alive\n\ndata: /)
  expect(await streamed('generate', 'sim-alive')).toMatch(/^\n\ndata: .*\n\n\n\ndata: /)
})

test('pace and delay', async () => {
  const paced = await listen(simulator.url, chat, 'sim-4-30ms')
  expect(paced.closed).toBe('ended')
  // Role, four words, reason, usage, sentinel: seven waits.
  expect(paced.pieces.at(-1)?.after).toBeGreaterThan(7 * 28)
  const slow = await listen(simulator.url, chat, 'sim-slow-120ms')
  expect(slow.pieces[0]?.after).toBeGreaterThan(115)
})

test('a client that hangs up is noticed, and only that one', async () => {
  const before = simulator.requests.length
  const abort = new AbortController()
  const answer = await post(simulator.url, chat, 'sim-1000-20ms', true, abort.signal)
  await answer.body?.getReader().read()
  abort.abort()
  await expect.poll(() => simulator.requests[before]?.aborted).toBe(true)
  await streamed('chat', 'sim')
  await expect(streamed('chat', 'sim-cut-1')).rejects.toThrow()
  expect(simulator.requests.slice(before + 1).map(request => request.aborted)).toEqual([false, false])
})

test('a client that reads slowly gets all of it', async () => {
  const answer = await post(simulator.url, chat, 'sim-3000k-0ms', true)
  const reader = answer.body?.getReader()
  let bytes = 0
  for (let reads = 0; ; reads++) {
    if (reads % 200 === 0) await wait(5)
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) break
    bytes += value?.length ?? 0
  }
  expect(bytes).toBeGreaterThan(3_000_000)
})

test('recorded requests', async () => {
  const before = simulator.requests.length
  await fetch(`${simulator.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'X-Api-Key': 'k' },
    body: '{"model":"sim","text":"ü"}',
  })
  expect(simulator.requests[before]).toMatchObject({
    method: 'POST',
    path: '/v1/messages',
    query: 'beta=true',
    headers: { 'x-api-key': 'k' },
    body: '{"model":"sim","text":"ü"}',
  })
  expect(Math.abs((simulator.requests[before]?.at ?? 0) - Date.now())).toBeLessThan(60_000)
})

test('a large body in many pieces', async () => {
  const before = simulator.requests.length
  const content = 'ü'.repeat(2_000_000)
  const answer = await fetch(`${simulator.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content }] }),
  })
  expect(answer.status).toBe(200)
  expect(simulator.requests[before]?.body).toContain(content)
})

test('an address in use, and an invalid one', async () => {
  await expect(startSimulator({ listen: new URL(simulator.url).host })).rejects.toThrow('cannot listen')
  await expect(startSimulator({ listen: 'somewhere' })).rejects.toThrow('not an address')
})

test('closing ends what was stalled', async () => {
  const other = await startSimulator({ record: true })
  const stalled = listen(other.url, chat, 'sim-stall-2')
  await expect.poll(() => other.requests.length).toBe(1)
  await other.close()
  expect((await stalled).closed).toBe('reset')
  await expect(fetch(other.url)).rejects.toThrow()
})

function wait(milliseconds: number): Promise<string> {
  return new Promise(resolve => setTimeout(() => resolve('waited'), milliseconds))
}

/** The chunks of a body as they were written. */
function chunks(raw: string): string[] {
  const found: string[] = []
  for (let rest = raw.slice(raw.indexOf('\r\n\r\n') + 4); ; ) {
    const end = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.slice(0, end), 16)
    if (end < 0 || !size) return found
    found.push(rest.slice(end + 2, end + 2 + size))
    rest = rest.slice(end + 2 + size + 2)
  }
}

function unchunked(raw: string): string {
  return chunks(raw).join('')
}
