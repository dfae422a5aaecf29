// Other names of models, and the order of targets: by expression, latency, load, price and stickiness.

import { describe, expect, test } from 'vitest'
import { PeakEwma } from '../../engine/balance/latency.js'
import { Sticky } from '../../engine/balance/sticky.js'
import { KEY } from '../harness.js'
import { dialects } from './dialects.js'
import { type Asked, ask, requestLines, settle } from './fake-upstreams.js'
import { NO_TARGET, type Routed, routed } from './routed.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

const { chat } = dialects
const good: Script = socket => json(socket, 200, chat.answer)
const failing: Script = socket => json(socket, 500, chat.error)
const both: Script = (socket, request) =>
  request.body.includes('"stream":true') ? stream(chat.begin + chat.text('Hi'), chat.end)(socket, request) : good(socket, request)

const status = async (gateway: { url: string }, asked: Asked = {}): Promise<number> => {
  const response = await ask(gateway, asked)
  await response.text()
  return response.status
}
const named = (model?: string, more: object = {}): Asked => {
  const { model: _, ...body } = chat.body(false) as { model?: string }
  return { body: JSON.stringify({ ...(model !== undefined && { model }), ...body, ...more }) }
}
const modelsSeen = ({ upstreams }: Routed, name: string): unknown[] =>
  (upstreams[name]?.requests ?? []).map(({ body }) => (JSON.parse(body) as { model: unknown }).model)
const listed = async (gateway: { url: string }): Promise<string[]> => {
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
  return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
}

describe.concurrent('names', () => {
  test('an alias stands for its model, and is not listed', async () => {
    const stage = await routed({ a: { script: good, target: { model: 'real' } } }, { aliases: ['small', 'tiny'] })
    expect([await status(stage.gateway, named('tiny')), await status(stage.gateway, named('other'))]).toEqual([200, 404])
    expect(modelsSeen(stage, 'a')).toEqual(['real'])
    expect(await listed(stage.gateway)).toEqual(['m'])
    expect((await requestLines(stage.gateway))[0]).toMatchObject({ model: 'm', target: 'a/real' })
  })

  test("a pattern gives the upstream's name, and an exact name precedes the longest pattern", async () => {
    const stage = await routed(
      { a: { script: good }, b: { script: good, target: NO_TARGET } },
      {},
      {
        models: {
          'own/*': { targets: [{ upstream: 'a' }], list: ['one', 'two'] },
          'own/x-*': { targets: [{ upstream: 'b', model: 'x:*' }], list: [] },
          'own/fixed': { targets: [{ upstream: 'b', model: 'always' }] },
        },
      },
    )
    for (const name of ['own/one', 'own/three', 'own/x-9', 'own/fixed']) expect(await status(stage.gateway, named(name))).toBe(200)
    expect(await status(stage.gateway, named('own/'))).toBe(404)
    expect(modelsSeen(stage, 'a')).toEqual(['one', 'three'])
    expect(modelsSeen(stage, 'b')).toEqual(['x:9', 'always'])
    expect(await listed(stage.gateway)).toEqual(['m', 'own/fixed', 'own/one', 'own/two'])
    const lines = await requestLines(stage.gateway, 4)
    // Names that clients make up are no names of targets.
    expect(lines.map(({ model, target }) => [model, target])).toEqual(
      expect.arrayContaining([
        ['own/one', 'a/one'],
        ['own/three', 'a/*'],
        ['own/x-9', 'b/x:*'],
      ]),
    )
  })

  test("a name with the tag that says nothing is a model's own, then the model's without it, then a pattern's", async () => {
    const stage = await routed(
      { a: { script: good } },
      { aliases: ['tiny'] },
      {
        models: {
          'kept:latest': { targets: [{ upstream: 'a', model: 'tagged' }] },
          kept: { targets: [{ upstream: 'a', model: 'bare' }] },
          'own/*': { targets: [{ upstream: 'a' }] },
          'own/fixed': { targets: [{ upstream: 'a', model: 'always' }] },
        },
      },
    )
    const names = ['kept:latest', 'kept', 'own/one:latest', 'own/fixed:latest', 'tiny:latest', 'm:latest']
    for (const name of names) expect(await status(stage.gateway, named(name))).toBe(200)
    expect(modelsSeen(stage, 'a')).toEqual(['tagged', 'bare', 'one:latest', 'always', 'm', 'm'])
    for (const name of [':latest', 'nobody:latest', 'm:other']) expect(await status(stage.gateway, named(name))).toBe(404)
  })

  test('the patterns of a key are compared with the requested name', async () => {
    const keys = [{ name: 'k', value: 'key-of-k', models: ['own/gpt-*'] }]
    const { gateway } = await routed({ a: { script: good } }, {}, { keys, models: { 'own/*': { targets: [{ upstream: 'a' }] } } })
    const headers = { authorization: 'Bearer key-of-k' }
    expect(await status(gateway, { ...named('own/gpt-9'), headers })).toBe(200)
    expect(await status(gateway, { ...named('own/other'), headers })).toBe(403)
  })

  test('a hidden model is served and not listed', async () => {
    const { gateway } = await routed({ a: { script: good } }, { hidden: true }, { models: { seen: { targets: [{ upstream: 'a' }] } } })
    expect(await status(gateway)).toBe(200)
    expect(await listed(gateway)).toEqual(['seen'])
  })

  test('a request without a model gets the default model, if there is one', async () => {
    const stage = await routed({ a: { script: good } }, {}, { default_model: 'm' })
    expect(await status(stage.gateway, named())).toBe(200)
    const long = named(undefined, { user: 'u'.repeat(100), messages: [{ role: 'user', content: 'long '.repeat(100_000) }] })
    expect(await status(stage.gateway, long)).toBe(200)
    expect(
      await status(stage.gateway, {
        ...named(),
        dialect: dialects.messages,
        body: '{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}',
      }),
    ).toBe(200)
    expect(modelsSeen(stage, 'a')).toEqual(['m', 'm', 'm'])
    const { gateway } = await routed({ a: { script: good } })
    expect(await status(gateway, named())).toBe(400)
  })
})

describe.concurrent('only', () => {
  test('a target serves the requests for which its expression of headers, body, key and groups is true', async () => {
    const stage = await routed(
      {
        canary: { script: good, target: { only: 'headers."x-canary" = "1"' } },
        long: { script: good, target: { only: '$count(request.messages) > 1' } },
        eu: { script: good, target: { only: '"eu" in groups and key.team = "search"' } },
        rest: { script: good, target: { priority: 2 } },
      },
      { groups: ['default', 'eu'] },
      {
        keys: [
          { name: 'test', value: KEY },
          { name: 'k', value: 'key-of-k', groups: ['eu'], team: 'search' },
        ],
      },
    )
    const { gateway, counts } = stage
    await status(gateway)
    expect(counts()).toEqual({ canary: 0, long: 0, eu: 0, rest: 1 })
    await status(gateway, { headers: { 'x-canary': '1' } })
    expect(counts()).toEqual({ canary: 1, long: 0, eu: 0, rest: 1 })
    const message = { role: 'user', content: 'Hi' }
    await status(gateway, named('m', { messages: [message, { role: 'assistant', content: 'Yes?' }, message] }))
    expect(counts()).toEqual({ canary: 1, long: 1, eu: 0, rest: 1 })
    await status(gateway, { headers: { authorization: 'Bearer key-of-k' } })
    expect(counts()).toEqual({ canary: 1, long: 1, eu: 1, rest: 1 })
  })

  test('a request that no target may serve is refused, and a failing expression counts as false', async () => {
    const { gateway, counts } = await routed({ a: { script: good, target: { only: '$number(headers."x-n") > 1' } } })
    expect(await status(gateway, { headers: { 'x-n': '2' } })).toBe(200)
    expect(await status(gateway, { headers: { 'x-n': '1' } })).toBe(403)
    expect(await status(gateway, { headers: { 'x-n': 'none' } })).toBe(403)
    expect(counts()).toEqual({ a: 1 })
    const failed = (await requestLines(gateway, 3)).find(line => line.failed !== undefined)
    expect(failed).toMatchObject({ status: 403, failed: [{ target: 'a/m', cause: expect.stringContaining('only') }] })
  })
})

describe.concurrent('sticky', () => {
  const sticky = { by: 'request.user' }

  test('a conversation stays with the target that answered it, even after a failover', async () => {
    let isIll = true
    const script: Script = socket => json(socket, isIll ? 500 : 200, isIll ? chat.error : chat.answer)
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } }, { sticky })
    await status(gateway, named('m', { user: 'one' }))
    isIll = false
    for (let count = 0; count < 3; count++) await status(gateway, named('m', { user: 'one' }))
    expect(counts()).toEqual({ a: 1, b: 4 })
    await status(gateway, named('m', { user: 'two' }))
    await status(gateway)
    expect(counts()).toEqual({ a: 3, b: 4 })
  })

  test('a conversation leaves its target when its time is over or the target is ejected', async () => {
    let isIll = false
    const script: Script = socket => json(socket, isIll ? 429 : 200, isIll ? chat.error : chat.answer, isIll ? 'retry-after: 60\r\n' : '')
    const { gateway, counts } = await routed(
      {
        a: { script: failing, upstream: { health: { consecutive_failures: 1, base_ejection_time: '20ms' } } },
        b: { script, target: { priority: 2 } },
      },
      { sticky: { by: 'request.user', for: '1h' } },
    )
    await status(gateway, named('m', { user: 'one' }))
    expect(counts()).toEqual({ a: 1, b: 1 })
    isIll = true
    await status(gateway, named('m', { user: 'one' }))
    const { a = 0 } = counts()
    expect(a).toBe(2)
    await status(gateway, named('m', { user: 'one' }))
    // It is asked first no more.
    expect(counts().a).toBe(3)
  })

  test('a conversation leaves a target that broke its stream off', async () => {
    const ill = { a: true, b: false }
    const script = (name: 'a' | 'b'): Script => {
      const cut: Script = socket => {
        socket.write(streamHead + chunk(chat.begin + chat.text('Hi')))
        socket.destroySoon()
      }
      return (socket, request) => (ill[name] ? (name === 'a' ? failing : cut) : both)(socket, request)
    }
    const { gateway, counts } = await routed(
      { a: { script: script('a') }, b: { script: script('b'), target: { priority: 2 } } },
      { sticky },
    )
    const asked = { body: JSON.stringify({ ...chat.body(true), user: 'one' }) }
    await status(gateway, asked)
    ill.a = false
    await status(gateway, asked)
    expect(counts()).toEqual({ a: 1, b: 2 })
    ill.b = true
    await status(gateway, asked)
    await status(gateway, asked)
    expect(counts()).toEqual({ a: 2, b: 3 })
  })

  test('only the latest conversations are remembered', () => {
    const store = new Sticky(60_000, 3)
    for (const name of ['1', '2', '3', '1', '4']) store.set(name, `target of ${name}`)
    store.set('x'.repeat(10_000), 'long')
    expect(store.size).toBe(3)
    expect(['1', '2', '3', '4', 'x'.repeat(10_000)].map(name => store.get(name))).toEqual([
      'target of 1',
      undefined,
      undefined,
      'target of 4',
      'long',
    ])
    store.lasts = 0
    store.set('5', 'gone')
    expect(store.get('5')).toBeUndefined()
  })
})

describe.concurrent('choose', () => {
  test('latency: the faster target comes first, whole answers and streams separately', async () => {
    const slow =
      (script: Script): Script =>
      (socket, request) =>
        // Far longer than the other one takes on a busy machine.
        void setTimeout(() => script(socket, request), 3_000)
    const { gateway, counts } = await routed({ a: { script: slow(both) }, b: { script: both } }, { choose: 'latency' })
    for (let count = 0; count < 12; count++) await status(gateway)
    // Both are tried once; then the slow one has to be forgotten first.
    expect(counts()).toEqual({ a: 1, b: 11 })
    for (let count = 0; count < 12; count++) await (await ask(gateway, { stream: true })).text()
    expect(counts()).toEqual({ a: 2, b: 22 })
  })

  test('latency rises at once, falls gradually, and decays with time', () => {
    const latency = new PeakEwma()
    expect(latency.load(1)).toBe(0)
    latency.observe(100, 1_000)
    latency.observe(500, 2_000)
    expect(latency.load(2_000)).toBe(500)
    latency.observe(100, 12_000)
    expect(latency.load(12_000)).toBeCloseTo((500 / Math.E) * (1 / Math.E) + 100 * (1 - 1 / Math.E), 3)
    expect(latency.load(60_000)).toBeLessThan(2)
  })

  test('least_busy: the target with fewer requests by weight comes first', async () => {
    const held: (() => void)[] = []
    const script: Script = socket => void held.push(() => json(socket, 200, chat.answer))
    const { gateway, counts } = await routed({ a: { script, target: { weight: 2 } }, b: { script } }, { choose: 'least_busy' })
    const asked: Promise<number>[] = []
    for (let count = 1; count <= 9; count++) {
      asked.push(status(gateway))
      await settle(() => held.length, count)
    }
    expect(counts()).toEqual({ a: 6, b: 3 })
    for (const release of held) release()
    await Promise.all(asked)
  })

  test('cheapest: the target with the lowest price for the request comes first', async () => {
    const target = { provider: 'openai' }
    const { gateway, counts } = await routed(
      {
        dear: { script: good, ...target, target: { model: 'gpt-5' } },
        cheap: { script: good, ...target, target: { model: 'gpt-5-nano' } },
        unknown: { script: good, ...target, target: { model: 'nobody-knows' } },
      },
      { choose: 'cheapest' },
    )
    for (let count = 0; count < 5; count++) await status(gateway)
    expect(counts()).toEqual({ dear: 0, cheap: 5, unknown: 0 })
  })
})

describe.concurrent('mirror', () => {
  const mirror = { to: { upstream: 'b', model: 'shadow' }, share: '100%' }

  test('gets the same request, with its own line in the log, and the caller gets the answer of the target', async () => {
    const other = { ...chat.answer, usage: { prompt_tokens: 70, completion_tokens: 7, total_tokens: 77 } }
    const stage = await routed({ a: { script: good }, b: { script: socket => json(socket, 200, other), target: NO_TARGET } }, { mirror })
    const response = await ask(stage.gateway)
    expect(await response.json()).toMatchObject({ usage: { total_tokens: (chat.answer.usage as { total_tokens: number }).total_tokens } })
    const lines = await requestLines(stage.gateway, 2)
    expect(modelsSeen(stage, 'b')).toEqual(['shadow'])
    const [own, theirs] = [lines.find(line => line.mirror === undefined), lines.find(line => line.mirror === true)]
    expect(own).toMatchObject({ key: 'test', target: 'a/m', status: 200 })
    expect(theirs).toMatchObject({ model: 'm', target: 'b/shadow', status: 200, usage: { input: 70, output: 7 } })
    expect(theirs).not.toHaveProperty('key')
    expect(theirs?.id).toBe(`${String(own?.id)}-mirror`)
  })

  test('reads a stream to its end', async () => {
    const { gateway } = await routed({ a: { script: both }, b: { script: both, target: NO_TARGET } }, { mirror })
    await (await ask(gateway, { stream: true })).text()
    const lines = await requestLines(gateway, 2)
    expect(lines.find(line => line.mirror === true)).toMatchObject({
      target: 'b/shadow',
      status: 200,
      usage: { input: expect.any(Number) },
    })
  })

  test('does not affect the caller if it fails, is translated, or never answers', async () => {
    for (const [script, provider] of [
      [failing, 'openai'],
      [(socket: Parameters<Script>[0]) => socket.destroy(), 'openai'],
      [(socket: Parameters<Script>[0]) => json(socket, 200, dialects.messages.answer), 'anthropic'],
      [() => undefined, 'openai'],
    ] as [Script, string][]) {
      const { gateway, counts } = await routed({ a: { script: good }, b: { script, provider, target: NO_TARGET } }, { mirror })
      expect(await status(gateway)).toBe(200)
      await settle(() => counts().b, 1)
    }
  })

  test('does not eject its target for clients if it fails', async () => {
    const { gateway, counts } = await routed(
      {
        a: { script: good, target: { priority: 2 } },
        b: { script: failing, target: { only: 'headers."x-b" = "1"' }, upstream: { health: { consecutive_failures: 1 } } },
      },
      { mirror: { to: { upstream: 'b' }, share: '100%' } },
    )
    await status(gateway)
    await requestLines(gateway, 2)
    expect(counts()).toEqual({ a: 1, b: 1 })
    // It is asked first, and mirrored to.
    await status(gateway, { headers: { 'x-b': '1' } })
    await settle(() => counts().b, 3)
    expect(counts()).toEqual({ a: 2, b: 3 })
  })

  test('gets its share of requests, and at most its maximum at a time', async () => {
    const { gateway, counts } = await routed(
      { a: { script: good }, b: { script: () => undefined, target: NO_TARGET } },
      { mirror: { ...mirror, max_requests: 2 } },
    )
    for (let count = 0; count < 6; count++) expect(await status(gateway)).toBe(200)
    await settle(() => counts().b, 2)
    const none = await routed({ a: { script: good }, b: { script: good, target: NO_TARGET } }, { mirror: { ...mirror, share: '0%' } })
    for (let count = 0; count < 6; count++) await status(none.gateway)
    expect(none.counts()).toEqual({ a: 6, b: 0 })
  })

  test('of a pattern is one mirror, whatever the names: it gets what the star stands for, and is known by the pattern', async () => {
    const wild = (more: object): object => ({
      'own/*': { targets: [{ upstream: 'a' }], list: [], mirror: { to: { upstream: 'b' }, share: '100%', ...more } },
    })
    const stage = await routed({ a: { script: good }, b: { script: good, target: NO_TARGET } }, {}, { models: wild({}) })
    expect(await status(stage.gateway, { model: 'own/one' })).toBe(200)
    const lines = await requestLines(stage.gateway, 2)
    expect(modelsSeen(stage, 'b')).toEqual(['one'])
    expect(lines.find(line => line.mirror === true)).toMatchObject({ model: 'own/one', target: 'b/*' })
    const silent = await routed(
      { a: { script: good }, b: { script: () => undefined, target: NO_TARGET } },
      {},
      { models: wild({ max_requests: 2 }) },
    )
    for (let count = 0; count < 6; count++) expect(await status(silent.gateway, { model: `own/${count}` })).toBe(200)
    await settle(() => silent.counts().b, 2)
  })
})
