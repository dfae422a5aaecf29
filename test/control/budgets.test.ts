// Budgets, from the command line and gateway.yaml to the request that is refused, and back to the ledger.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer, json, startUpstream, type Upstream } from '../engine/upstream.js'
import { ask, createStage, exported, FILE_KEY, type Instance, openRows, type Stage, until, untilAnswered } from './stage.js'
import { onPostgres } from './stores.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

/** A request costs 1 000 nano-units for a token of input and 5 000 for one of output. */
const PRICE = { input: 1, output: 5 }
const models = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  sim: { targets: [{ upstream: 'up' }], price: PRICE },
  'sim-200-20ms': { targets: [{ upstream: 'up' }], price: PRICE },
  'sim-20-20ms': { targets: [{ upstream: 'up' }], price: PRICE },
  free: { targets: [{ upstream: 'up', model: 'sim' }], price: { input: 0, output: 0 } },
  unpriced: { targets: [{ upstream: 'up', model: 'sim' }] },
  ...more,
})

interface Account {
  budget: string
  limit: number
  out: number
  spent: number
}
const accountsOf = async (gateway: Instance): Promise<Record<string, Account>> => {
  const { body } = await gateway.admin<{ budgets: Account[] }>('GET', '/budgets')
  return Object.fromEntries(body.budgets.map(one => [one.budget, one]))
}
interface Row {
  id: string
  key: string
  model: string
  charge: number | null
  input: number | null
  output: number | null
  ended: string
}
const rowsOf = async (gateway: Instance, count = 0): Promise<Row[]> =>
  until(
    () => exported<Row>(gateway),
    rows => rows.length >= count,
  )
const differences = async (gateway: Instance): Promise<Record<string, unknown>> =>
  (await gateway.admin<{ differences: Record<string, unknown> }>('GET', '/ledger/verify')).body.differences
const bodyOf = async (response: Response): Promise<{ error: { message: string; type: string; code: string | null } }> =>
  (await response.json()) as never
const small = { max_tokens: 40 }

describe('a key with a budget', () => {
  let gateway: Instance
  beforeAll(async () => {
    gateway = await stage.start({ models: models(), workers: 2, labels: { end_user: 'x-user', tags: 'x-tags' } })
  })

  test('is made by one command, and is refused in the form of its dialect when the budget is spent', async () => {
    // A request is charged some 200 000 nano-units: the budget is for a few of them.
    const made = await gateway.command('keys', 'create', 'demo', '--budget', '0.001/day')
    expect(made.err).toBe('')
    let answered = 0
    let refused: Response | undefined
    // Others may return what they hold: the refusal differs until the money is certainly spent.
    for (let count = 0; count < 60 && refused?.headers.get('x-should-retry') !== 'false'; count++) {
      const response = await ask(gateway.url, made.out, 'sim', small)
      if (response.status === 200) {
        answered++
        await response.text()
      } else refused = response
    }
    expect(answered).toBeGreaterThan(0)
    expect(refused?.status).toBe(429)
    expect(refused?.headers.get('x-sluice-budget')).toBe('key:demo/day')
    const { error } = await bodyOf(refused as Response)
    expect(error).toMatchObject({ type: 'insufficient_quota', code: 'insufficient_quota' })
    // What is left is no multiple of the price.
    expect(error.message).toMatch(
      /^The budget of this API key \(0\.001 USD a day\) has 0\.000\d+ USD left, and this request may cost 0\.000\d+ USD: a shorter answer or prompt costs less\. It resets at \d{4}-\d\d-\d\dT00:00:00Z\.$/,
    )
    const other = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': made.out, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim', max_tokens: 40, messages: [{ role: 'user', content: 'x' }] }),
    })
    expect([other.status, (await bodyOf(other)).error.type]).toEqual([402, 'billing_error'])
    // Free requests are still served, and so is the key of the file.
    expect((await ask(gateway.url, made.out, 'free', small)).status).toBe(200)
    expect((await ask(gateway.url, FILE_KEY, 'sim', small)).status).toBe(200)
    // Those that were answered, and the free one: rows are written in batches.
    const rows = await until(
      async () => (await rowsOf(gateway)).filter(row => row.key === 'demo' && row.ended === 'ok'),
      found => found.length === answered + 1,
    )
    const spent = rows.reduce((sum, row) => sum + (row.charge ?? 0), 0)
    const account = (
      await until(
        () => accountsOf(gateway),
        all => all['key:demo/day']?.spent === spent,
      )
    )['key:demo/day']
    expect(account).toMatchObject({ limit: 1_000_000, spent })
    expect(spent).toBeLessThanOrEqual(1_000_000)
    expect(spent).toBeGreaterThan(500_000)
    expect(await differences(gateway)).toEqual({})
    // With a higher limit, requests are served at once.
    expect((await gateway.command('keys', 'set', 'demo', '--budget', '1/day')).code).toBe(0)
    expect(
      (
        await until(
          () => ask(gateway.url, made.out, 'sim', small),
          response => response.status === 200,
        )
      ).status,
    ).toBe(200)
    // What was left of the old limit may have paid for that request, so the new one may take a moment to be listed.
    const list = await until(
      () => gateway.command('budgets', 'list'),
      ({ out }) => / 1\.000000 USD/.test(out),
    )
    expect(list).toMatchObject({ code: 0, err: '' })
    expect(list.out).toMatch(/key:demo\/day .* 1\.000000 USD/)
  })

  test('is refused a model without a price', async () => {
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'unpriced', budgets: [{ limit: '1/ever' }] })
    const response = await ask(gateway.url, body.secret, 'unpriced')
    expect([response.status, (await bodyOf(response)).error.code]).toEqual([403, 'model_not_priced'])
    expect((await ask(gateway.url, FILE_KEY, 'unpriced')).status).toBe(200)
  })

  test('is refused an answer that comes later, whose cost nothing would count', async () => {
    const later = (key: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim', input: 'Think.', background: true }),
      })
    const made = async (name: string, budget: object): Promise<string> =>
      (await gateway.admin<{ secret: string }>('POST', '/keys', { name, budgets: [budget] })).body.secret
    const refused = await later(await made('later', { limit: '1/ever' }))
    expect([refused.status, (await bodyOf(refused)).error.message]).toEqual([403, expect.stringContaining('comes later')])
    expect((await later(await made('warned', { limit: '1/ever', when_spent: 'warn' }))).status).toBe(200)
    expect((await later(FILE_KEY)).status).toBe(200)
  })

  test('is refused before any call if the budget is too small for the request', async () => {
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'small', budgets: [{ limit: '0.0000001/ever' }] })
    const response = await ask(gateway.url, body.secret, 'sim', { stream: true })
    expect([response.status, (await bodyOf(response)).error.message]).toEqual([
      429,
      expect.stringMatching(/^The budget of this API key \(0\.0000001 USD for good\) has 0\.0000001 USD left, and this request may cost /),
    ])
    expect((await gateway.admin('POST', '/keys', { name: 'wrong', budgets: [{ limit: '1/fortnight' }] })).status).toBe(422)
    expect((await gateway.admin('POST', '/keys', { name: 'wrong', budgets: [{ limit: '1/day', zone: 'Europe/Bonn' }] })).status).toBe(422)
    expect((await gateway.admin('POST', '/keys', { name: 'wrong', budgets: [{ limit: '1/day' }, { limit: '2/day' }] })).status).toBe(422)
  })

  test('gets the error of its dialect in a stream when the budget is spent, and pays for what it got', async () => {
    // For some hundred of the two hundred tokens.
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'stream', budgets: [{ limit: '0.0005/day' }] })
    const response = await ask(gateway.url, body.secret, 'sim-200-20ms', { stream: true })
    const text = await response.text()
    expect(response.status).toBe(200)
    const events = text.split('\n').filter(line => line.startsWith('data: '))
    expect(events.length).toBeGreaterThan(40)
    expect(events.length).toBeLessThan(130)
    expect(JSON.parse((events.at(-1) as string).slice(6)).error).toMatchObject({ type: 'insufficient_quota' })
    expect(text).not.toContain('[DONE]')
    const [row] = await until(
      async () => (await rowsOf(gateway)).filter(one => one.key === 'stream'),
      rows => rows.length === 1,
    )
    expect(row?.charge).toBeGreaterThan(400_000)
    expect(row?.charge).toBeLessThan(600_000)
    await until(
      () => differences(gateway),
      found => Object.keys(found).length === 0,
    )
    expect(await differences(gateway)).toEqual({})
  })
})

describe('budgets of gateway.yaml', () => {
  let gateway: Instance
  beforeAll(async () => {
    gateway = await stage.start({
      models: models({
        cheap: { targets: [{ upstream: 'other', model: 'sim' }], price: { input: 0.01, output: 0.01 } },
        dear: {
          targets: [{ upstream: 'up', model: 'sim' }],
          price: PRICE,
          budget: { limit: '0.000001/day', when_spent: { use: 'cheap' } },
        },
        round: {
          targets: [{ upstream: 'up', model: 'sim' }],
          price: PRICE,
          budget: { limit: '0.000001/day', when_spent: { use: 'about' } },
        },
        about: {
          targets: [{ upstream: 'up', model: 'sim' }],
          price: PRICE,
          budget: { limit: '0.000001/day', when_spent: { use: 'round' } },
        },
      }),
      upstreams: {
        up: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
        other: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
        poor: { provider: 'openai', base: stage.simulator.url, secret: 'none', budget: '0.000001/day', models: [] },
      },
      labels: { end_user: 'x-user', tags: 'x-tags' },
      groups: {
        tight: { budget: '0.000001/month' },
        warned: { budget: { limit: '0.000001/day', when_spent: 'warn' } },
        secret: { hidden: true, budget: '0.000001/day' },
      },
      keys: [
        { name: 'file', value: FILE_KEY },
        { name: 'tight', value: 'key-tight', groups: ['default', 'tight'] },
        { name: 'warned', value: 'key-warned', groups: ['default', 'warned'] },
        { name: 'secret', value: 'key-secret', groups: ['default', 'secret'] },
        { name: 'using', value: 'key-using', budget: { limit: '0.000001/week', zone: 'Asia/Kathmandu', when_spent: { use: 'cheap' } } },
        { name: 'team', value: 'key-team', team: 'red' },
      ],
      budgets: {
        all: '100/month',
        end_user: '1/day',
        end_users: { mallory: '0.000001/hour' },
        tags: { nightly: '0.000001/day' },
        teams: { red: '0.000001/ever' },
      },
    })
  })

  test('count for groups, teams, tags, end users and everybody', async () => {
    const refusal = async (key: string, headers: Record<string, string> = {}): Promise<[number, string | null, string]> => {
      const response = await ask(gateway.url, key, 'sim', small, headers)
      return [
        response.status,
        response.headers.get('x-sluice-budget'),
        response.status === 200 ? '' : (await bodyOf(response)).error.message,
      ]
    }
    expect((await refusal('key-tight')).slice(0, 2)).toEqual([429, 'group:tight/month'])
    expect((await refusal('key-team')).slice(0, 2)).toEqual([429, 'team:red/ever'])
    expect((await refusal(FILE_KEY, { 'x-user': 'mallory' })).slice(0, 2)).toEqual([429, 'end_user:mallory/hour'])
    expect((await refusal(FILE_KEY, { 'x-user': 'alice' }))[0]).toBe(200)
    expect((await refusal(FILE_KEY, { 'x-tags': 'other, nightly' })).slice(0, 2)).toEqual([429, 'tag:nightly/day'])
    // A hidden group is not named.
    const [status, header, message] = await refusal('key-secret')
    expect([status, header]).toEqual([429, 'gateway'])
    expect(message).toMatch(/^A budget of this gateway (is spent|has too little left for this request)\./)
    await rowsOf(gateway, 6)
    const accounts = await until(
      () => accountsOf(gateway),
      all => (all['end_user:alice/day']?.spent ?? 0) > 0,
    )
    expect(accounts['all/month']?.spent).toBe(accounts['end_user:alice/day']?.spent)
    expect(await differences(gateway)).toEqual({})
  })

  test('warn or use another model when they are spent, and name it in a header', async () => {
    const warned = await ask(gateway.url, 'key-warned', 'sim', small)
    expect([warned.status, warned.headers.get('x-sluice-budget')]).toEqual([200, 'group:warned/day is spent'])
    const using = await ask(gateway.url, 'key-using', 'sim', small)
    expect([using.status, using.headers.get('x-sluice-model')]).toEqual([200, 'cheap'])
    expect(((await using.json()) as { model: string }).model).toBeDefined()
    const rows = await until(
      async () => (await rowsOf(gateway)).filter(row => row.key === 'using'),
      all => all.length === 1,
    )
    expect(rows[0]?.model).toBe('cheap')
    const accounts = await until(
      () => accountsOf(gateway),
      all => (all['key:using/week/Asia/Kathmandu']?.spent ?? 0) > 0,
    )
    expect(accounts['group:warned/day']?.spent).toBeGreaterThan(1_000)
  })

  test.each([
    ['chat', '/v1/chat/completions', { model: 'sim', messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }],
    ['messages', '/v1/messages', { model: 'sim', messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }],
    ['responses', '/v1/responses', { model: 'sim', input: 'x', max_output_tokens: 16 }],
    ['generate', '/v1beta/models/sim:generateContent', { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }],
  ])('name the other model to clients of %s, in whole answers and streams', async (name, path, body) => {
    for (const stream of [false, true]) {
      const streamedPath = name === 'generate' && stream ? path.replace('generateContent', 'streamGenerateContent?alt=sse') : path
      const response = await fetch(gateway.url + streamedPath, {
        method: 'POST',
        headers: { authorization: 'Bearer key-using', 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, ...(stream && name !== 'generate' && { stream }) }),
      })
      const told = ['x-sluice-model', 'x-sluice-budget'].map(header => response.headers.get(header))
      expect([response.status, ...told]).toEqual([200, 'cheap', 'key:using/week/Asia/Kathmandu is spent'])
      expect(response.headers.get('content-type')).toMatch(stream ? /^text\/event-stream/ : /^application\/json/)
      await response.text()
    }
  })

  test('count a replacing model in its own budget, and use no third model', async () => {
    const using = await ask(gateway.url, FILE_KEY, 'dear', small)
    expect([using.status, using.headers.get('x-sluice-model')]).toEqual([200, 'cheap'])
    expect((await ask(gateway.url, FILE_KEY, 'round', small)).status).toBe(429)
    await until(
      () => differences(gateway),
      found => Object.keys(found).length === 0,
    )
    expect((await accountsOf(gateway))['model:dear/day']?.spent).toBe(0)
  })
})

test('a model that replaces another one counts its requests in its own limits', async () => {
  const up = { upstream: 'up', model: 'sim' }
  const gateway = await stage.start({
    upstreams: { up: { provider: 'openai', base: stage.simulator.url, secret: 'none' } },
    models: {
      cheap: { targets: [up], price: { input: 0.01, output: 0.01 }, limits: { requests: '2/1h' } },
      dear: { targets: [up], price: PRICE, limits: { requests: '1/1h' }, budget: { limit: '0.000001/day', when_spent: { use: 'cheap' } } },
    },
  })
  const seen = async (): Promise<unknown[]> => {
    const response = await ask(gateway.url, FILE_KEY, 'dear', small)
    await response.text()
    return [response.status, ...['limit', 'remaining'].map(name => response.headers.get(`x-ratelimit-${name}-requests`))]
  }
  expect([await seen(), await seen(), await seen()]).toEqual([
    [200, '2', '1'],
    [200, '2', '0'],
    [429, '2', '0'],
  ])
})

test('a request skips an upstream whose budget is spent', async () => {
  const gateway = await stage.start({
    expose: ['target'],
    upstreams: {
      poor: { provider: 'openai', base: stage.simulator.url, secret: 'none', budget: '0.000001/day' },
      rich: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
    },
    models: {
      sim: { targets: [{ upstream: 'poor' }, { upstream: 'rich', priority: 2 }], price: PRICE },
      alone: { targets: [{ upstream: 'poor', model: 'sim' }], price: PRICE },
    },
  })
  const response = await ask(gateway.url, FILE_KEY, 'sim', small)
  expect([response.status, response.headers.get('x-sluice-target')]).toEqual([200, 'rich/sim'])
  const alone = await ask(gateway.url, FILE_KEY, 'alone', small)
  expect([alone.status, (await bodyOf(alone)).error.message]).toEqual([
    429,
    expect.stringMatching(/^A budget of this gateway (is spent|has too little left for this request)\./),
  ])
  await gateway.stop()
})

describe('what only one of several targets did', () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }
  let upstream: Upstream
  let gateway: Instance
  beforeAll(async () => {
    upstream = await startUpstream((socket, { body }) => {
      if (body.includes('"slow"')) return
      if (body.includes('"fails"') && body.includes('bad')) json(socket, 500, { error: { message: 'No.' } })
      else json(socket, 200, { ...answer, usage })
    })
    const upstreamOf = (provider: string) => ({ provider, base: upstream.url, secret: 'none', budget: '5/day' })
    const targets = (...all: [upstream: string, model: string][]) =>
      all.map(([name, model], index) => ({ upstream: name, model, priority: index + 1 }))
    gateway = await stage.start({
      expose: ['cost'],
      keys: [{ name: 'file', value: FILE_KEY, budget: '5/day' }],
      upstreams: {
        slow: upstreamOf('openai'),
        fast: upstreamOf('openai'),
        one: upstreamOf('openai'),
        left: upstreamOf('openai'),
        behind: upstreamOf('openai'),
        parts: upstreamOf('groq'),
      },
      models: {
        hedged: {
          price: PRICE,
          hedge: { after: '50ms' },
          targets: targets(['slow', 'slow'], ['fast', 'fast']),
        },
        'hedged-at-one': {
          price: PRICE,
          hedge: { after: '50ms' },
          targets: targets(['one', 'slow'], ['one', 'fast']),
        },
        left: {
          price: PRICE,
          hedge: { after: '50ms' },
          targets: targets(['left', 'slow'], ['behind', 'slow']),
        },
        parts: {
          price: PRICE,
          targets: targets(['parts', 'fails'], ['parts', 'works']),
        },
        'parts-fail': { price: PRICE, targets: [{ upstream: 'parts', model: 'fails' }] },
      },
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await upstream?.close()
  })
  const rowOf = async (model: string): Promise<Row> => {
    const found = await until(
      async () => (await rowsOf(gateway)).find(row => row.model === model),
      row => row !== undefined,
    )
    return found as Row
  }
  const spentOf = async (account: string): Promise<number | undefined> => {
    await until(
      () => differences(gateway),
      found => Object.keys(found).length === 0,
    )
    return (await accountsOf(gateway))[account]?.spent
  }
  const complete = (model: string, ...prompt: string[]) =>
    fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, prompt, max_tokens: 10 }),
    })

  test('a hedge that was slower costs its upstream nothing', async () => {
    expect((await ask(gateway.url, FILE_KEY, 'hedged', small)).status).toBe(200)
    const { charge } = await rowOf('hedged')
    expect(charge).toBeGreaterThan(0)
    expect([await spentOf('upstream:slow/day'), await spentOf('upstream:fast/day')]).toEqual([0, charge])
  })

  test('a hedge at the same upstream is charged once', async () => {
    expect((await ask(gateway.url, FILE_KEY, 'hedged-at-one', small)).status).toBe(200)
    const { charge } = await rowOf('hedged-at-one')
    expect(await spentOf('upstream:one/day')).toBe(charge)
  })

  test('a client that leaves before either target of a hedge has answered pays for one of them', async () => {
    const before = upstream.requests.length
    const gone = new AbortController()
    const asked = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: gone.signal,
      headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'left', messages: [{ role: 'user', content: 'Hello' }], ...small }),
    }).catch(() => undefined)
    await expect.poll(() => upstream.requests.length).toBe(before + 2)
    gone.abort()
    await asked
    const row = await rowOf('left')
    expect(row).toMatchObject({ target: 'left/slow', attempts: 2 })
    expect(row.charge).toBeGreaterThan(0)
    expect([await spentOf('upstream:left/day'), await spentOf('upstream:behind/day')]).toEqual([row.charge, 0])
  })

  test('the parts that a failed target answered are not charged with those of the next one', async () => {
    const response = await complete('parts', 'a', 'b', 'bad')
    expect([response.status, (await response.json()).usage.total_tokens]).toEqual([200, 3300])
    const row = await rowOf('parts')
    expect(row).toMatchObject({ input: 3000, output: 300 })
    expect(response.headers.get('x-sluice-cost')).toBe(String((row.charge as number) / 1e9))
  })

  test('the parts that a target answered before it failed are not charged', async () => {
    const before = upstream.requests.length
    expect((await complete('parts-fail', 'a', 'bad', ...Array.from({ length: 60 }, String))).status).toBe(502)
    // What comes after the failure is not sent.
    expect(upstream.requests.length - before).toBeLessThan(30)
    expect(await rowOf('parts-fail')).toMatchObject({ input: null, output: null, charge: null })
  })
})

const OWN = `
title: Test
source: this test
read: 2026-11-22
providers: [openai, kling, jimeng, gemini]
models:
  painted: { prices: [{ from: 2026-01-01, input: 5, image_output: 30 }] }
  filmed: { prices: [{ from: 2026-01-01, second: 0.1 }] }
  heard: { prices: [{ from: 2026-01-01, second: 0.1 }] }
  written: { prices: [{ from: 2026-01-01, input: 6, output: 10 }] }
  embedded: { context: 2048, prices: [{ from: 2026-01-01, input: 1 }] }
  worded: { prices: [{ from: 2026-01-01, input: 1, output: 1 }] }
  spoken: { prices: [{ from: 2026-01-01, input: 1, output: 10, audio_output: 12 }] }
  timed: { prices: [{ from: 2026-01-01, second: 0.1 }] }
  read: { prices: [{ from: 2026-01-01, character: 15 }] }
  paged: { prices: [{ from: 2026-01-01, page: 0.1 }] }
`

/** What the upstream answers, by the end of the path. */
const FOUND: [end: RegExp, body: object][] = [
  [
    /images\/generations$/,
    {
      created: 1,
      data: [{ b64_json: 'AAAA' }],
      usage: { input_tokens: 10, output_tokens: 1_000, total_tokens: 1_010, input_tokens_details: { text_tokens: 10, image_tokens: 0 } },
    },
  ],
  [
    /(text|image)2video$/,
    { code: 0, message: 'SUCCEED', request_id: 'r', data: { task_id: '8', task_status: 'submitted', created_at: 1 } },
  ],
  [/Action=CVSync2AsyncSubmitTask/, { code: 10_000, message: 'Success', request_id: 'r', status: 10_000, data: { task_id: '7' } }],
  [/Action=CVSync2AsyncGetResult/, { code: 10_000, message: 'Success', request_id: 'r', status: 10_000, data: { status: 'generating' } }],
  [/videos$/, { id: 'video_1', object: 'video', model: 'm', status: 'queued', progress: 0, created_at: 1, seconds: '4', size: '720x1280' }],
  [/batchEmbedContents$/, { embeddings: Array.from({ length: 50 }, () => ({ values: [0.5] })) }],
  [/moderations$/, { id: 'm', model: 'm', results: [{ flagged: false, categories: {}, category_scores: {} }] }],
  [/embeddings$/, { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], usage: { prompt_tokens: 7 } }],
]
const TEXT = 'The quick brown fox jumps over the lazy dog, and again.\n\n'
const SUBTITLES: Record<string, { type: string; body: string }> = {
  text: { type: 'text/plain; charset=utf-8', body: TEXT.slice(0, 45) },
  srt: { type: 'text/plain', body: `1\n00:00:00,000 --> 00:01:01,500\n${TEXT}2\n00:01:01,500 --> 00:02:10,000\n${TEXT}` },
  vtt: { type: 'text/vtt', body: `WEBVTT\n\n00:00.000 --> 00:59.000\n${TEXT}01:00.000 --> 02:10.000\n${TEXT}` },
}

/** The words of a transcript that breaks off. */
const WORDS = ['The', ' quick', ' brown', ' fox']

/** What a recording has whose price is for its seconds. */
const TOKENS = { type: 'tokens', input_tokens: 40, output_tokens: 14, total_tokens: 54 }
const SOUND = { type: 'audio/mpeg', body: 'not looked into' }

describe('what is not text', () => {
  let server: Server
  let gateway: Instance
  let folder: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = ''
      request.setEncoding('latin1').on('data', part => (body += part))
      request.on('end', () => {
        if (body.includes('name="stream"')) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(WORDS.map(delta => `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`).join(''), () =>
            response.destroy(),
          )
          return
        }
        const form = Object.keys(SUBTITLES).find(name => body.includes(`\r\n\r\n${name}\r\n`))
        const found = FOUND.find(([end]) => end.test(request.url ?? ''))?.[1]
        const { type, body: text } = (form && SUBTITLES[form]) ||
          (request.url?.endsWith('speech') && SOUND) || {
            type: 'application/json',
            body: JSON.stringify(found ?? { text: TEXT, ...(body.includes('\r\n\r\ntimed\r\n') && { usage: TOKENS }) }),
          }
        response.setHeader('content-type', type).end(text)
      })
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    folder = mkdtempSync(join(tmpdir(), 'sluice-media-'))
    mkdirSync(join(folder, 'models'))
    writeFileSync(join(folder, 'models/own.yaml'), OWN)
    const at = (upstream: string, model: string) => ({ targets: [{ upstream, model }] })
    gateway = await stage.start(
      {
        keys: [
          { name: 'limited', value: 'key-with-a-budget', budget: '1000/day' },
          { name: 'small', value: 'key-with-little', budget: '0.001/day' },
          { name: 'free', value: FILE_KEY },
        ],
        upstreams: {
          openai: { provider: 'openai', base, secret: 'none' },
          kling: { provider: 'kling', base, secret: 'a:b' },
          jimeng: { provider: 'jimeng', base, secret: 'none' },
          gemini: { provider: 'gemini', base, secret: 'none' },
        },
        models: {
          painted: at('openai', 'painted'),
          filmed: at('openai', 'filmed'),
          heard: at('openai', 'heard'),
          written: at('openai', 'written'),
          embedded: at('openai', 'embedded'),
          'omni-moderation-latest': at('openai', 'omni-moderation-latest'),
          paged: at('openai', 'paged'),
          spoken: at('openai', 'spoken'),
          read: at('openai', 'read'),
          timed: at('openai', 'timed'),
          'at-kling': at('kling', 'filmed'),
          'at-jimeng': at('jimeng', 'filmed'),
          'worded-at-kling': at('kling', 'worded'),
          'at-gemini': at('gemini', 'embedded'),
        },
      },
      folder,
    )
  })
  afterAll(async () => {
    await gateway?.stop()
    server?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const make = async (key: string, path: string, body: object): Promise<Response> => {
    const isForm = body instanceof FormData
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    })
    await response.clone().text()
    return response
  }
  const recording = (model: string, form: string): FormData => {
    const data = new FormData()
    data.set('model', model)
    data.set('response_format', form)
    data.set('file', new Blob(['RIFF']), 'a.wav')
    return data
  }
  const streamed = (model: string): FormData => {
    const data = recording(model, 'json')
    data.set('stream', 'true')
    return data
  }
  const prompt = 'Waves'
  const texts = Array.from({ length: 50 }, () => 'x'.repeat(9_000))

  test.each<[name: string, path: string, body: () => object, charge: unknown, isEstimated?: boolean]>([
    ['a picture that is counted in tokens', '/v1/images/generations', () => ({ model: 'painted', prompt }), 30_050_000],
    [
      'speech of 400 characters that is counted in tokens',
      '/v1/audio/speech',
      () => ({ model: 'spoken', voice: 'a', input: 'x'.repeat(400) }),
      100 * 1_000 + 520 * 12_000,
      true,
    ],
    [
      'speech of 400 characters that is counted in characters',
      '/v1/audio/speech',
      () => ({ model: 'read', voice: 'a', input: 'x'.repeat(400) }),
      400 * 15_000,
    ],
    ['a video', '/v1/videos', () => ({ model: 'filmed', prompt }), 400_000_000],
    ['a video, from the JSON endpoint', '/v1/video/generations', () => ({ model: 'filmed', prompt, duration: 4 }), 400_000_000],
    ['a video at Kling', '/v1/videos', () => ({ model: 'at-kling', prompt, seconds: '10' }), 1_000_000_000],
    ['a video of usual length at Kling', '/v1/videos', () => ({ model: 'at-kling', prompt }), 500_000_000],
    [
      'a video at Kling, from the JSON endpoint',
      '/v1/video/generations',
      () => ({ model: 'at-kling', prompt, duration: 10 }),
      1_000_000_000,
    ],
    [
      'a video at Kling that begins with a picture',
      '/v1/videos',
      () => ({ model: 'at-kling', prompt, seconds: '10', input_reference: { image_url: 'data:image/png;base64,AAAA' } }),
      1_000_000_000,
    ],
    ["a video on Kling's path", '/kling/v1/videos/text2video', () => ({ model_name: 'at-kling', prompt, duration: '10' }), 1_000_000_000],
    ['a video at Jimeng', '/v1/videos', () => ({ model: 'at-jimeng', prompt, seconds: '10' }), 1_000_000_000],
    [
      "a video on Jimeng's path",
      '/jimeng?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
      () => ({ req_key: 'at-jimeng', prompt, frames: 241 }),
      1_000_000_000,
    ],
    ['a vector for a client that gets no usage', '/api/embeddings', () => ({ model: 'embedded', prompt }), 7_000],
    [
      'vectors that their provider does not count',
      '/v1/embeddings',
      () => ({ model: 'at-gemini', input: texts }),
      expect.closeTo(150_000_000, -7),
      true,
    ],
    [
      'moderation that its provider does not count, and gives for nothing',
      '/v1/moderations',
      () => ({ model: 'omni-moderation-latest', input: 'x'.repeat(400) }),
      0,
      true,
    ],
    ['a text of 45 bytes: three seconds', '/v1/audio/transcriptions', () => recording('heard', 'text'), 300_000_000, true],
    ['a text in JSON, of 70 bytes: five seconds', '/v1/audio/transcriptions', () => recording('heard', 'json'), 500_000_000, true],
    [
      'a text in JSON whose report is in tokens, of 155 bytes: eleven seconds',
      '/v1/audio/transcriptions',
      () => recording('timed', 'json'),
      1_100_000_000,
      true,
    ],
    ['subtitles of 2:10', '/v1/audio/transcriptions', () => recording('heard', 'srt'), 13_000_000_000, true],
    ['web subtitles of 2:10', '/v1/audio/transcriptions', () => recording('heard', 'vtt'), 13_000_000_000, true],
    ['a translation as subtitles', '/v1/audio/translations', () => recording('heard', 'srt'), 13_000_000_000, true],
    ['a text that is counted in tokens', '/v1/audio/transcriptions', () => recording('written', 'text'), 30 * 6_000 + 12 * 10_000, true],
    [
      'subtitles that are counted in tokens',
      '/v1/audio/transcriptions',
      () => recording('written', 'srt'),
      expect.closeTo(8_000_000, -6),
      true,
    ],
    ['a streamed text that breaks off', '/v1/audio/transcriptions', () => streamed('written'), 5 * 10_000, true],
  ])('%s costs the same with a budget and without', async (_name, path, body, charge, isEstimated = false) => {
    for (const key of ['key-with-a-budget', FILE_KEY]) {
      const response = await make(key, path, body())
      expect([response.status, response.status === 200 || (await response.text())]).toEqual([200, true])
      const id = response.headers.get('x-request-id')
      const row = await until(
        async () => (await exported<Row & { estimated: boolean }>(gateway)).find(one => one.id === id),
        one => one !== undefined,
      )
      expect([row?.charge, row?.estimated]).toEqual([charge, isEstimated])
    }
  })

  test('what only an answer tells is not reserved, and the tokens of a picture are', async () => {
    expect((await make('key-with-little', '/v1/audio/transcriptions', recording('written', 'text'))).status).toBe(200)
    const picture = await make('key-with-little', '/v1/images/generations', { model: 'painted', prompt })
    expect([picture.status, (await bodyOf(picture)).error.message]).toEqual([429, expect.stringContaining('this request may cost 0.12')])
  })

  test.each([
    ['a video is not counted in tokens', '/v1/videos', { model: 'worded-at-kling', prompt }],
    ['nothing counts pages', '/v1/images/generations', { model: 'paged', prompt }],
    ['a picture has a price, a text has none', '/v1/chat/completions', { model: 'painted', messages: [{ role: 'user', content: prompt }] }],
  ])('%s: a budget refuses it', async (_name, path, body) => {
    const response = await make('key-with-a-budget', path, body)
    expect([response.status, (await bodyOf(response)).error.code]).toEqual([403, 'model_not_priced'])
  })

  test('the state of a task costs nothing, although its request names the model', async () => {
    const made = await make('key-with-a-budget', '/jimeng?Action=CVSync2AsyncSubmitTask', { req_key: 'at-jimeng', prompt })
    const { data } = (await made.json()) as { data: { task_id: string } }
    const state = await make('key-with-a-budget', '/jimeng?Action=CVSync2AsyncGetResult', { req_key: 'at-jimeng', task_id: data.task_id })
    expect([state.status, await state.json()]).toEqual([
      200,
      expect.objectContaining({ data: expect.objectContaining({ status: 'generating' }) }),
    ])
  })
})

test('spent amounts survive kill -9 of the worker, of the control process and of both', async () => {
  const gateway = await stage.start({ models: models(), workers: 2, keys: [{ name: 'file', value: FILE_KEY, budget: '0.01/day' }] })
  let asked = 0
  // While the control process is away a worker that has no money yet refuses with 503, which is a row without a price.
  const spend = async (count: number): Promise<void> => {
    for (let paid = 0; paid < count; asked++) {
      const answer = await ask(gateway.url, FILE_KEY, 'sim', small)
      await answer.text().catch(() => '')
      if (answer.status === 200) paid++
    }
  }
  const settled = async (): Promise<Account> => {
    await rowsOf(gateway, asked)
    await until(
      () => differences(gateway),
      found => Object.keys(found).length === 0,
    )
    expect(await differences(gateway)).toEqual({})
    return (await accountsOf(gateway))['key:file/day'] as Account
  }
  await spend(5)
  const first = await settled()
  expect(first.spent).toBeGreaterThan(0)
  // The control process: nothing about money was in it.
  process.kill(gateway.pids('control/main.js')[0] as number, 'SIGKILL')
  await spend(2)
  await untilAnswered(gateway)
  const second = await settled()
  expect(second.spent / 7).toBeCloseTo(first.spent / 5, -1)
  // A worker: what it had and did not spend goes back.
  for (const pid of gateway.pids('--worker')) process.kill(pid, 'SIGKILL')
  await until(
    async () => gateway.pids('--worker').length,
    count => count === 2,
  )
  const back = await until(
    () => accountsOf(gateway),
    all => all['key:file/day']?.out === all['key:file/day']?.spent,
  )
  expect(back['key:file/day']?.out).toBe(back['key:file/day']?.spent)
  expect(back['key:file/day']?.spent).toBe(second.spent)
  // All of it.
  for (const pid of [...gateway.pids(''), gateway.process.pid as number]) process.kill(pid, 'SIGKILL')
  const again = await stage.start({ models: models(), keys: [{ name: 'file', value: FILE_KEY, budget: '0.01/day' }] }, gateway.folder)
  expect((await accountsOf(again))['key:file/day']?.spent).toBe(second.spent)
  const served = await until(
    () => ask(again.url, FILE_KEY, 'sim', small),
    response => response.status === 200,
  )
  expect(served.status).toBe(200)
  await again.stop()
})

test('a stream whose worker is killed is charged by what its last report says, and is reported again while it runs', async () => {
  // It ends before fifteen seconds are over.
  const model = 'sim-500-20ms'
  const gateway = await stage.start({
    models: models({ [model]: { targets: [{ upstream: 'up' }], price: PRICE } }),
    workers: 2,
    keys: [{ name: 'file', value: FILE_KEY, budget: '1/day' }],
  })
  const reported = (): number => {
    const [row] = openRows(gateway)
    return row === undefined ? 0 : ((JSON.parse(row) as Row).output ?? 0)
  }
  let isOver = false
  const text = (await ask(gateway.url, FILE_KEY, model, { stream: true })).text().catch(() => 'broken')
  void text.then(() => (isOver = true))
  const grown = async (from: number): Promise<number> =>
    until(
      async () => reported(),
      output => output > from || isOver,
    )
  const first = await grown(0)
  const last = await grown(await grown(first))
  expect(isOver).toBe(false)
  for (const pid of gateway.pids('--worker')) process.kill(pid, 'SIGKILL')
  expect(await text).toBe('broken')
  const [row] = await rowsOf(gateway, 1)
  expect(row).toMatchObject({ ended: 'lost' })
  expect(row?.output).toBeGreaterThanOrEqual(last)
  const account = await until(
    () => accountsOf(gateway),
    all => all['key:file/day']?.out === row?.charge,
  )
  expect(account['key:file/day']).toMatchObject({ spent: row?.charge, out: row?.charge })
  expect(await differences(gateway)).toEqual({})
  await gateway.stop()
})

onPostgres('while Postgres is unreachable', postgres => {
  test('granted money can be spent, and then requests are answered with 503', async () => {
    const gateway = await stage.start({
      models: models(),
      store: { at: await postgres().database() },
      keys: [{ name: 'file', value: FILE_KEY, budget: '1/day' }],
    })
    const first = await until(
      () => ask(gateway.url, FILE_KEY, 'sim', small),
      response => response.status === 200,
    )
    expect(first.status).toBe(200)
    await postgres().stop()
    const refused = await until(
      () => ask(gateway.url, FILE_KEY, 'sim', { max_tokens: 100_000 }),
      response => response.status !== 200,
    )
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    await postgres().start()
    const back = await until(
      () => ask(gateway.url, FILE_KEY, 'sim', small),
      response => response.status === 200,
    )
    expect(back.status).toBe(200)
    expect(await gateway.stop()).toBe(0)
  })
})
