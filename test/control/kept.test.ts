// Kept responses: official and third-party clients continue, refer to and retrieve them, with providers that keep none.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { DatabaseSync } from '@photostructure/sqlite'
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { contents, type Said, startChat } from './chat-provider.js'
import { createStage, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let chat: Awaited<ReturnType<typeof startChat>>
let gateway: Instance
let client: OpenAI
const SEALED = 'word-that-nobody-else-says'

/** As the official API tells it. */
const NOT_FOUND = { status: 400, code: 'previous_response_not_found' }

const LONG_NAME = `accounts/${'a'.repeat(100)}/models/${'m'.repeat(100)}`

beforeAll(async () => {
  stage = await createStage()
  chat = await startChat()
  gateway = await stage.start({
    workers: 2,
    upstreams: {
      chat: { provider: 'mistral', base: chat.url, secret: 'none' },
      claude: { provider: 'anthropic', base: stage.simulator.url, secret: 'none' },
      gemini: { provider: 'gemini', base: stage.simulator.url, secret: 'none' },
      local: { provider: 'ollama', base: stage.simulator.url, secret: 'none' },
      official: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
    },
    models: {
      m: { targets: [{ upstream: 'chat', model: 'x' }] },
      claude: { targets: [{ upstream: 'claude', model: 'sim' }] },
      gemini: { targets: [{ upstream: 'gemini', model: 'sim' }] },
      // The simulator gives every answer of a model the same id.
      local: { targets: [{ upstream: 'local', model: 'sim' }] },
      other: { targets: [{ upstream: 'local', model: 'sim-20-20ms' }] },
      official: { targets: [{ upstream: 'official', model: 'sim' }] },
      mirrored: { targets: [{ upstream: 'claude', model: 'sim' }], mirror: { to: { upstream: 'chat', model: 'shadow' }, share: '100%' } },
      // Its sealed ids are long.
      [LONG_NAME]: { targets: [{ upstream: 'official', model: 'sim' }] },
    },
    keys: [
      { name: 'ada', value: 'key-of-ada' },
      { name: 'bob', value: 'key-of-bob' },
    ],
  })
  client = new OpenAI({ apiKey: 'key-of-ada', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await stage?.close()
  chat?.server.close()
})

const rolesOf = (messages: Said[] | undefined): string[] => (messages ?? []).map(({ role }) => role)

/** `store` is in answers of the API, and not in the client's types. */
const storeOf = (response: object): unknown => ('store' in response ? response.store : undefined)

test('the official client continues whole and streamed responses without any setting', async () => {
  const first = await client.responses.create({ model: 'm', input: SEALED, instructions: 'Be brief.' })
  expect([first.output_text, storeOf(first), first.previous_response_id]).toEqual(['turn 1', true, null])
  const second = await client.responses.create({ model: 'm', input: 'And now?', previous_response_id: first.id })
  // The conversation continues; instructions belong to one turn.
  expect(contents(chat.seen.at(-1))).toEqual([SEALED, 'turn 1', 'And now?'])
  expect(second.previous_response_id).toBe(first.id)
  const stream = client.responses.stream({ model: 'm', input: [{ role: 'user', content: 'More' }], previous_response_id: second.id })
  const third = await stream.finalResponse()
  expect([third.previous_response_id, storeOf(third)]).toEqual([second.id, true])
  const fourth = await client.responses.create({ model: 'm', input: 'Last', previous_response_id: third.id, store: false })
  expect(contents(chat.seen.at(-1))).toEqual([SEALED, 'turn 1', 'And now?', 'turn 2', 'More', 'turn 3', 'Last'])
  expect(rolesOf(chat.seen.at(-1))).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'])
  // Who wants nothing kept keeps nothing.
  expect(storeOf(fourth)).toBe(false)
  await expect(client.responses.retrieve(fourth.id)).rejects.toMatchObject({ status: 404 })
  // A conversation continues with another provider.
  for (const model of ['claude', 'gemini']) {
    const other = await client.responses.create({ model, input: 'You?', previous_response_id: third.id })
    expect(other.output_text).not.toBe('')
    expect((await client.responses.retrieve(other.id)).output_text).toBe(other.output_text)
  }
})

test('a response that its provider keeps is not continued by a model elsewhere, and the refusal names the response', async () => {
  const { id } = await client.responses.create({ model: 'official', input: 'x' })
  for (const model of ['m', 'local'])
    await expect(client.responses.create({ model, input: 'y', previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'previous_response_id',
      message: expect.stringContaining('only models of that provider'),
    })
})

test('the answer of a mirror is not kept', async () => {
  const asked = chat.seen.length
  const first = await client.responses.create({ model: 'mirrored', input: 'Once' })
  const second = await client.responses.create({ model: 'mirrored', input: 'Twice', previous_response_id: first.id })
  await until(
    async () => chat.seen.length,
    seen => seen === asked + 2,
  )
  // What is kept after it is there.
  const last = await client.responses.create({ model: 'm', input: 'And last', previous_response_id: second.id })
  await client.responses.retrieve(last.id)
  const database = new DatabaseSync(join(gateway.folder, 'data', 'sluice.sqlite'), { readOnly: true })
  expect(database.prepare("select id from kept where caller <> 'ada' and caller <> 'bob'").all()).toEqual([])
  database.close()
})

test('the tokens of a kept conversation are counted, and another provider compacts it', async () => {
  const first = await client.responses.create({ model: 'm', input: 'word '.repeat(200) })
  const counted = (more: object): Promise<{ input_tokens: number }> =>
    client.responses.inputTokens.count({ model: 'm', input: 'x', ...more })
  const [alone, whole] = [await counted({}), await counted({ previous_response_id: first.id })]
  expect(whole.input_tokens - alone.input_tokens).toBeGreaterThan(199)
  await expect(counted({ previous_response_id: 'resp_nothing' })).rejects.toMatchObject(NOT_FOUND)
  const compact = (id: string): Promise<{ object: string }> =>
    client.responses.compact({ model: 'official' as 'gpt-5.4', previous_response_id: id })
  expect((await compact(first.id)).object).toBe('response.compaction')
  await expect(compact('resp_nothing')).rejects.toMatchObject(NOT_FOUND)
})

test('a response can be retrieved with its input, and deleted', async () => {
  const input = [
    { role: 'user' as const, content: 'One' },
    { role: 'user' as const, content: 'Two' },
  ]
  const made = await client.responses.create({ model: 'm', input, metadata: { topic: 'x' } })
  const { output_text: _text, ...answer } = made
  const again = await client.responses.retrieve(made.id)
  expect(again).toMatchObject(JSON.parse(JSON.stringify(answer)))
  const list = await client.responses.inputItems.list(made.id, { order: 'asc', limit: 1 })
  expect(list.data).toMatchObject([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'One' }] }])
  const all: unknown[] = []
  for await (const item of list) all.push((item as { content: { text: string }[] }).content[0]?.text)
  expect(all).toEqual(['One', 'Two'])
  const newest = await client.responses.inputItems.list(made.id)
  expect(newest.data.map(item => (item as { content: { text: string }[] }).content[0]?.text)).toEqual(['Two', 'One'])
  // It exists, although it was not made in the background.
  await expect(client.responses.cancel(made.id)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('Cannot cancel a synchronous response.'),
  })
  await expect(client.responses.retrieve(made.id, { stream: true })).rejects.toMatchObject({ status: 400, param: 'stream' })
  // What is refused is named, whatever else the query has.
  for (const [method, path, param] of [
    ['GET', '?include=message.input_image.image_url&stream=true', 'stream'],
    ['POST', '/cancel?trace=1', null],
  ] as const) {
    const refused = await fetch(`${gateway.url}/v1/responses/${made.id}${path}`, {
      method,
      headers: { authorization: 'Bearer key-of-ada' },
    })
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }])
  }
  const removed = await fetch(`${gateway.url}/v1/responses/${made.id}`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer key-of-ada' },
  })
  expect([removed.status, await removed.json()]).toEqual([200, { id: made.id, object: 'response', deleted: true }])
  await expect(client.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
  await expect(client.responses.create({ model: 'm', input: 'x', previous_response_id: made.id })).rejects.toMatchObject(NOT_FOUND)
})

test('the input of a response is listed in pages, of items that it has', async () => {
  const input = ['1', '2', '3', '4', '5'].map(content => ({ role: 'user' as const, content }))
  const { id } = await client.responses.create({ model: 'm', input })
  interface Page {
    data: { id: string; content: { text: string }[] }[]
    has_more: boolean
    error: { message: string; param: string; code: string; type: string }
  }
  const listed = async (query: string): Promise<Page & { status: number; texts: string }> => {
    const answer = await fetch(`${gateway.url}/v1/responses/${id}/input_items${query}`, { headers: { authorization: 'Bearer key-of-ada' } })
    const page = (await answer.json()) as Page
    return { ...page, status: answer.status, texts: page.data?.map(item => item.content[0]?.text).join('') }
  }
  const ids = Object.fromEntries((await listed('')).data.map(item => [item.content[0]?.text, item.id]))
  for (const [query, texts, more] of [
    ['?order=asc', '12345', false],
    ['?order=asc&limit=5', '12345', false],
    ['?order=asc&limit=100', '12345', false],
    ['', '54321', false],
    [`?order=asc&limit=2&after=${ids[1]}`, '23', true],
    [`?limit=2&after=${ids[5]}`, '43', true],
    [`?order=asc&after=${ids[5]}`, '', false],
    [`?order=asc&limit=2&before=${ids[4]}`, '23', true],
    [`?order=asc&limit=3&before=${ids[4]}`, '123', false],
    [`?order=asc&before=${ids[1]}`, '', false],
    [`?order=asc&after=${ids[1]}&before=${ids[4]}`, '23', false],
    [`?order=asc&limit=1&after=${ids[1]}&before=${ids[4]}`, '2', true],
    ['?order=asc&after=&before=', '12345', false],
  ] as const) {
    const page = await listed(query)
    expect([query, page.status, page.texts, page.has_more]).toEqual([query, 200, texts, more])
  }
  for (const [query, param] of [
    ['?order=asc&limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?limit=-1', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?limit=ten', 'limit'],
    ['?limit=', 'limit'],
    ['?order=up', 'order'],
    ['?limit=2&after=msg_nothing', 'after'],
    ['?limit=2&before=msg_nothing', 'before'],
  ] as const) {
    const { status, error } = await listed(query)
    expect([query, status, error?.param, error?.type, error?.code]).toEqual([query, 400, param, 'invalid_request_error', 'invalid_value'])
    expect(error.message).toContain(`'${param}'`)
  }
})

test('the pages of an input end, although some of its items share an id', async () => {
  const item = (content: string) => ({ type: 'message' as const, id: 'msg_same', role: 'user' as const, content })
  const { id } = await client.responses.create({ model: 'm', input: [item('1'), item('2'), { role: 'user', content: '3' }] })
  let pages = 0
  let page = await client.responses.inputItems.list(id, { limit: 1, order: 'asc' })
  for (; page.hasNextPage() && pages < 10; pages++) page = await page.getNextPage()
  expect(pages).toBeLessThan(3)
  expect(page.data).toMatchObject([{ content: [{ text: '3' }] }])
})

test('only the key that made a response can retrieve it', async () => {
  const made = await client.responses.create({ model: 'm', input: 'Mine' })
  const other = new OpenAI({ apiKey: 'key-of-bob', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  await expect(other.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
  await expect(other.responses.delete(made.id)).rejects.toMatchObject({ status: 404 })
  await expect(other.responses.create({ model: 'm', input: 'x', previous_response_id: made.id })).rejects.toMatchObject({
    ...NOT_FOUND,
    param: 'previous_response_id',
  })
  const item = { type: 'item_reference' as const, id: made.output[0]?.id as string }
  await expect(other.responses.create({ model: 'm', input: [item] })).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining(`No kept item of yours has the id '${item.id}'.`),
  })
  // The type may be absent or null.
  for (const own of [item, { id: item.id }, { type: null, id: item.id }]) {
    const again = await client.responses.create({ model: 'm', input: [own, { role: 'user', content: 'x' }] })
    expect([again.status, contents(chat.seen.at(-1))]).toEqual(['completed', [made.output_text, 'x']])
  }
  expect((await client.responses.retrieve(made.id)).id).toBe(made.id)
})

test('the AI SDK refers to kept items, in whole answers and streams', async () => {
  const openai = createOpenAI({ apiKey: 'key-of-ada', baseURL: `${gateway.url}/v1` })
  const weather = tool({ description: 'The weather', inputSchema: z.object({ city: z.string() }), execute: async () => 'sunny' })
  const messages: ModelMessage[] = [{ role: 'user', content: 'How is Rome?' }]
  const first = await generateText({ model: openai('m'), messages, tools: { weather }, stopWhen: stepCountIs(3) })
  expect(first.text).toMatch(/^turn \d+$/)
  expect(rolesOf(chat.seen.at(-1))).toEqual(['user', 'assistant', 'tool'])
  messages.push(...first.response.messages, { role: 'user', content: 'And Paris?' })
  const second = streamText({ model: openai('m'), messages })
  const text = await second.text
  expect(contents(chat.seen.at(-1))).toEqual(['How is Rome?', null, 'sunny', first.text, 'And Paris?'])
  expect(chat.seen.at(-1)?.[1]?.tool_calls?.[0]?.function.name).toBe('weather')
  messages.push(...(await second.response).messages, { role: 'user', content: 'Thanks' })
  await generateText({ model: openai('m'), messages })
  expect(contents(chat.seen.at(-1)).slice(-3)).toEqual(['And Paris?', text, 'Thanks'])
})

test('responses of a provider of the same dialect that keeps nothing are kept, too', async () => {
  const first = await client.responses.create({ model: 'local', input: 'Hello' })
  expect((await client.responses.retrieve(first.id)).output_text).toBe(first.output_text)
  const stream = client.responses.stream({ model: 'other', input: 'More', previous_response_id: first.id })
  const second = await stream.finalResponse()
  expect((await client.responses.retrieve(second.id)).output_text).toBe(second.output_text)
  const other = await client.responses.create({ model: 'm', input: 'Last', previous_response_id: second.id })
  expect(contents(chat.seen.at(-1))).toEqual(['Hello', first.output_text, 'More', second.output_text, 'Last'])
  expect(other.previous_response_id).toBe(second.id)
})

test('a long id is followed in a long request, and an unknown one is told as it was sent', async () => {
  const first = await client.responses.create({ model: LONG_NAME, input: 'One' })
  expect(first.id.length).toBeGreaterThan(256)
  const input = 'x'.repeat(100_000)
  const second = await client.responses.create({ model: LONG_NAME, input, previous_response_id: first.id })
  expect(second.status).toBe('completed')
  const unknown = `resp_${'u'.repeat(300)}`
  for (const model of [LONG_NAME, 'm'])
    await expect(client.responses.create({ model, input, previous_response_id: unknown })).rejects.toMatchObject({
      ...NOT_FOUND,
      message: expect.stringContaining(`'${unknown.slice(0, 128)}'`),
    })
})

test('answers of a provider that uses an id twice are kept as different ones, with different items', async () => {
  const ids = new Set<string>()
  const ask = async (input: string): Promise<[string, string]> => {
    const whole = await client.responses.create({ model: 'local', input })
    const stream = client.responses.stream({ model: 'local', input: `${input}, streamed` })
    const items = new Set<string>()
    for await (const event of stream) {
      if ('item_id' in event) items.add(event.item_id as string)
      if ('item' in event) items.add(event.item.id as string)
    }
    const streamed = await stream.finalResponse()
    for (const { id, output } of [whole, streamed]) for (const one of [id, ...output.map(item => item.id as string)]) ids.add(one)
    expect([...items]).toEqual(streamed.output.map(item => item.id))
    return [whole.id, streamed.id]
  }
  const [first, second] = [await ask('Asked by Ada'), await ask('Asked by Bob')]
  // Each has a response and an item.
  expect(ids.size).toBe(8)
  for (const [id, input] of [
    [first[0], 'Asked by Ada'],
    [second[0], 'Asked by Bob'],
    [second[1], 'Asked by Bob, streamed'],
  ] as const) {
    const { data } = await client.responses.inputItems.list(id)
    expect(data).toMatchObject([{ content: [{ text: input }] }])
    await client.responses.create({ model: 'm', input: 'More', previous_response_id: id })
    expect(contents(chat.seen.at(-1))[0]).toBe(input)
  }
})

test('kept answers are sealed at rest, and only the user can read the key', () => {
  for (const file of ['sluice.sqlite', 'sluice.sqlite-wal']) {
    const bytes = readFileSync(join(gateway.folder, 'data', file))
    expect([bytes.includes(SEALED), bytes.includes('turn 1')]).toEqual([false, false])
  }
  expect(readFileSync(join(gateway.folder, 'data', 'kept.key'), 'utf8')).toMatch(/^[0-9a-f]{64}$/)
  expect(gateway.log.join('\n')).not.toContain(SEALED)
})

test('kept answers survive a restart; with `for: none` clients get an error', async () => {
  const made = await client.responses.create({ model: 'm', input: 'Before' })
  const keys = [{ name: 'ada', value: 'key-of-ada' }]
  const file = {
    upstreams: { chat: { provider: 'mistral', base: chat.url, secret: 'none' } },
    models: { m: { targets: [{ upstream: 'chat', model: 'x' }] } },
    keys,
  }
  await gateway.stop()
  const again = await stage.start(file, gateway.folder)
  const later = new OpenAI({ apiKey: 'key-of-ada', baseURL: `${again.url}/v1`, maxRetries: 0 })
  const found = await until(
    () => later.responses.retrieve(made.id).catch(() => undefined),
    response => response !== undefined,
  )
  expect(found?.output_text).toBe(made.output_text)
  await again.stop()
  const without = await stage.start({ ...file, kept: { for: 'none' } })
  const none = new OpenAI({ apiKey: 'key-of-ada', baseURL: `${without.url}/v1`, maxRetries: 0 })
  expect(storeOf(await none.responses.create({ model: 'm', input: 'x' }))).toBe(false)
  await expect(none.responses.create({ model: 'm', input: 'x', previous_response_id: made.id })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
  })
  await without.stop()
})
