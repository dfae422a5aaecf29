// Kept conversations: official clients begin, change and read them, and responses of every provider continue them.

import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, tool } from '@openai/agents'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { contents, startChat } from './chat-provider.js'
import { createStage, type Instance, type Stage } from './stage.js'

let stage: Stage
let chat: Awaited<ReturnType<typeof startChat>>
let gateway: Instance
let client: OpenAI
let other: OpenAI

beforeAll(async () => {
  stage = await createStage()
  chat = await startChat()
  gateway = await stage.start({
    workers: 2,
    upstreams: {
      chat: { provider: 'mistral', base: chat.url, secret: 'none' },
      claude: { provider: 'anthropic', base: stage.simulator.url, secret: 'none' },
      local: { provider: 'ollama', base: stage.simulator.url, secret: 'none' },
      official: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
    },
    models: {
      m: { targets: [{ upstream: 'chat', model: 'x' }] },
      claude: { targets: [{ upstream: 'claude', model: 'sim' }] },
      local: { targets: [{ upstream: 'local', model: 'sim' }] },
      official: { targets: [{ upstream: 'official', model: 'sim' }] },
    },
    patterns: {
      names: { words: ['Blue Heron'], mask: '[name]', in: ['request'] },
      secrets: { words: ['merger'], do: 'block', in: ['request'] },
      answers: { words: ['Red Heron'], mask: '[other]', in: ['answer'] },
    },
    keys: [
      { name: 'ada', value: 'key-of-ada' },
      { name: 'bob', value: 'key-of-bob' },
    ],
  })
  const connected = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  client = connected('key-of-ada')
  other = connected('key-of-bob')
})
afterAll(async () => {
  await stage?.close()
  chat?.server.close()
})

const NOT_FOUND = { status: 404, message: expect.stringContaining('not found') }
const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content })

type Item = { id: string; content?: { text?: string }[] }
const textsOf = (items: readonly object[]): unknown[] => (items as Item[]).map(({ content }) => content?.[0]?.text)
const idsOf = (items: readonly object[]): string[] => (items as Item[]).map(({ id }) => id)
async function all(conversation: string): Promise<object[]> {
  const items: object[] = []
  for await (const item of client.conversations.items.list(conversation, { order: 'asc', limit: 2 })) items.push(item)
  return items
}

test('the official client begins, reads, changes and deletes a conversation', async () => {
  const empty = await client.conversations.create()
  expect(empty).toMatchObject({ id: expect.stringMatching(/^conv_/), object: 'conversation', metadata: {} })
  expect(Math.abs(empty.created_at - Date.now() / 1000)).toBeLessThan(600)
  const made = await client.conversations.create({ metadata: { topic: 'x' }, items: [user('One'), user('Two')] })
  expect(await client.conversations.retrieve(made.id)).toEqual(made)
  const changed = await client.conversations.update(made.id, { metadata: { topic: 'y' } })
  expect(changed).toEqual({ ...made, metadata: { topic: 'y' } })
  expect(await client.conversations.retrieve(made.id)).toEqual(changed)
  expect((await client.conversations.update(made.id, { metadata: null })).metadata).toEqual({})
  expect(textsOf(await all(made.id))).toEqual(['One', 'Two'])
  // Another key has no such conversation.
  for (const call of [
    () => other.conversations.retrieve(made.id),
    () => other.conversations.update(made.id, { metadata: {} }),
    () => other.conversations.items.list(made.id),
    () => other.conversations.items.create(made.id, { items: [user('x')] }),
    () => other.conversations.delete(made.id),
    () => other.responses.create({ model: 'm', input: 'x', conversation: made.id }),
  ])
    await expect(call()).rejects.toMatchObject(NOT_FOUND)
  expect(await client.conversations.delete(made.id)).toEqual({ id: made.id, object: 'conversation.deleted', deleted: true })
  await expect(client.conversations.retrieve(made.id)).rejects.toMatchObject(NOT_FOUND)
  await expect(client.responses.create({ model: 'm', input: 'x', conversation: made.id })).rejects.toMatchObject(NOT_FOUND)
})

test('what no conversation has is refused, as from a client of the API that Mistral has at the same path', async () => {
  const asked = { model: 'm', inputs: [user('Hello')], stream: false }
  await expect(client.post('/conversations', { body: asked })).rejects.toMatchObject({ status: 400, code: 'unknown_parameter' })
  const { id } = await client.conversations.create()
  for (const path of [`/conversations/${id}`, `/conversations/${id}/items`])
    await expect(client.post(path, { body: { items: [user('One')], inputs: 'Hello' } })).rejects.toMatchObject({
      status: 400,
      code: 'unknown_parameter',
      param: 'inputs',
    })
})

test('whole and streamed responses continue a conversation and become part of it', async () => {
  const { id } = await client.conversations.create({ items: [user('First')] })
  const one = await client.responses.create({ model: 'm', input: 'Second', conversation: id })
  expect([one.conversation, one.previous_response_id]).toEqual([{ id }, null])
  expect(contents(chat.seen.at(-1))).toEqual(['First', 'Second'])
  const two = await client.responses.stream({ model: 'm', input: [user('Third')], conversation: { id } }).finalResponse()
  expect(contents(chat.seen.at(-1))).toEqual(['First', 'Second', one.output_text, 'Third'])
  // What is not to be requested again belongs to it all the same.
  const three = await client.responses.create({ model: 'm', input: 'Fourth', conversation: id, store: false })
  await expect(client.responses.retrieve(three.id)).rejects.toMatchObject({ status: 404 })
  await client.conversations.items.create(id, { items: [user('Fifth')] })
  const said = ['First', 'Second', one.output_text, 'Third', two.output_text, 'Fourth', three.output_text, 'Fifth']
  expect(textsOf(await all(id))).toEqual(said)
  // Its responses are there, and can be continued without it.
  expect((await client.responses.retrieve(two.id)).output_text).toBe(two.output_text)
  await client.responses.create({ model: 'm', input: 'Aside', previous_response_id: two.id })
  expect(contents(chat.seen.at(-1))).toEqual([...said.slice(0, 5), 'Aside'])
  expect(textsOf(await all(id))).toEqual(said)
})

test.each(['claude', 'local', 'official'])('%s continues a conversation that another provider began', async model => {
  const { id } = await client.conversations.create()
  const begun = await client.responses.create({ model: 'm', input: 'Begin', conversation: id })
  const next = await client.responses.create({ model, input: 'Go on', conversation: id })
  const streamed = await client.responses.stream({ model, input: 'And on', conversation: id }).finalResponse()
  await client.responses.create({ model: 'm', input: 'End', conversation: id })
  const said = ['Begin', begun.output_text, 'Go on', next.output_text, 'And on', streamed.output_text, 'End']
  expect(contents(chat.seen.at(-1))).toEqual(said)
  expect(textsOf(await all(id)).slice(0, -1)).toEqual(said)
})

test.each(['m', 'claude', 'local', 'official'])('an answer of %s says what its request continues', async model => {
  const { id } = await client.conversations.create()
  for (const store of [true, false]) {
    const whole = await client.responses.create({ model, input: 'x', conversation: id, store })
    const streamed = await client.responses.create({ model, input: 'x', conversation: { id }, store, stream: true })
    const told = [whole]
    for await (const event of streamed) if ('response' in event) told.push(event.response)
    expect(told.length).toBeGreaterThan(2)
    expect(told.map(({ conversation }) => conversation)).toEqual(told.map(() => ({ id })))
  }
  const begun = await client.responses.create({ model, input: 'x' })
  const next = await client.responses.create({ model, input: 'y', previous_response_id: begun.id })
  expect([next.previous_response_id, next.conversation ?? null]).toEqual([begun.id, null])
  expect((await client.responses.retrieve(next.id)).id).toBe(next.id)
})

test('a conversation that is unknown here may be at a provider that keeps responses, and nowhere else', async () => {
  const elsewhere = { input: 'x', conversation: 'conv_elsewhere' }
  expect((await client.responses.create({ model: 'official', ...elsewhere })).output_text).not.toBe('')
  for (const model of ['m', 'claude', 'local'])
    await expect(client.responses.create({ model, ...elsewhere })).rejects.toMatchObject(NOT_FOUND)
  await expect(client.conversations.retrieve('conv_elsewhere')).rejects.toMatchObject(NOT_FOUND)
})

test('items are listed in pages, found by their ids, and removed', async () => {
  const { id } = await client.conversations.create({ items: ['1', '2', '3', '4', '5'].map(user) })
  const items = await all(id)
  expect(new Set(idsOf(items)).size).toBe(5)
  const newest = await client.conversations.items.list(id, { limit: 2 })
  expect([textsOf(newest.data), newest.has_more]).toEqual([['5', '4'], true])
  const added = await client.conversations.items.create(id, { items: [user('6'), { role: 'assistant', content: '7' }] })
  expect(textsOf(added.data)).toEqual(['6', '7'])
  expect(added).toMatchObject({ object: 'list', has_more: false, data: [{ type: 'message', status: 'completed' }, { role: 'assistant' }] })
  const [six] = idsOf(added.data) as [string]
  expect(await client.conversations.items.retrieve(six, { conversation_id: id })).toEqual(added.data[0])
  // Removals at the same time are all done.
  const gone = idsOf(items).slice(1, 4)
  await Promise.all(gone.map(item => client.conversations.items.delete(item, { conversation_id: id })))
  expect(textsOf(await all(id))).toEqual(['1', '5', '6', '7'])
  for (const item of [gone[0] as string, 'msg_nothing'])
    for (const call of [
      () => client.conversations.items.retrieve(item, { conversation_id: id }),
      () => client.conversations.items.delete(item, { conversation_id: id }),
    ])
      await expect(call()).rejects.toMatchObject(NOT_FOUND)
  await client.responses.create({ model: 'm', input: '8', conversation: id })
  expect(contents(chat.seen.at(-1))).toEqual(['1', '5', '6', '7', '8'])
})

test('who removes items while listing them reaches all of them', async () => {
  const { id } = await client.conversations.create({ items: ['1', '2', '3', '4', '5'].map(user) })
  const seen: object[] = []
  for await (const item of client.conversations.items.list(id, { limit: 2 })) {
    seen.push(item)
    await client.conversations.items.delete((item as Item).id, { conversation_id: id })
  }
  expect([textsOf(seen), await all(id)]).toEqual([['5', '4', '3', '2', '1'], []])
})

test('what is added at the same time is all there, each once', async () => {
  const { id } = await client.conversations.create()
  const words = Array.from({ length: 8 }, (_, index) => `word ${index}`)
  const settled = await Promise.allSettled<unknown>(
    words.map((word, index) =>
      index % 2 === 0
        ? client.conversations.items.create(id, { items: [user(word)] })
        : client.responses.create({ model: 'm', input: word, conversation: id }),
    ),
  )
  // On a busy machine the store may need too long for one of them, which is then refused.
  const done = words.filter((_, index) => settled[index]?.status === 'fulfilled')
  expect(done.length).toBeGreaterThan(1)
  const texts = textsOf(await all(id)) as string[]
  expect(texts.filter(text => done.includes(text)).sort()).toEqual(done)
})

test('a conversation has each id once, and an id that was removed may come again', async () => {
  const item = (id: string, text: string) => ({ id, type: 'message' as const, role: 'user' as const, content: text })
  const doubled = (param: string): object => ({
    status: 400,
    param,
    code: null,
    message: expect.stringContaining('Duplicate item found with id msg_a.'),
  })
  const twice = [item('msg_a', '1'), item('msg_a', '2')]
  await expect(client.conversations.create({ items: twice })).rejects.toMatchObject(doubled('items'))
  const { id } = await client.conversations.create({ items: [item('msg_a', '1'), item('msg_b', '2')] })
  for (const items of [twice, [item('msg_c', '3'), item('msg_a', '4')]])
    for (const model of ['m', 'official'])
      await expect(client.responses.create({ model, input: items, conversation: id })).rejects.toMatchObject(doubled('input'))
  await expect(client.conversations.items.create(id, { items: [item('msg_a', '3')] })).rejects.toMatchObject(doubled('items'))
  // What the conversation has already is not sent again: https://github.com/openai/openai-agents-python/issues/1789
  const { output } = await client.responses.create({ model: 'm', input: '3', conversation: id })
  const again = { model: 'm', input: output as OpenAI.Responses.ResponseInput, conversation: id }
  await expect(client.responses.create(again)).rejects.toMatchObject({ status: 400, param: 'input' })
  await client.conversations.items.delete('msg_a', { conversation_id: id })
  await client.conversations.items.create(id, { items: [item('msg_a', '4')] })
  expect(textsOf(await all(id)).filter(text => /^\d$/.test(String(text)))).toEqual(['2', '3', '4'])
  await client.conversations.items.delete('msg_a', { conversation_id: id })
  expect(idsOf(await all(id))).not.toContain('msg_a')
})

test('an item that refers to a kept one stands for it, also when that is removed', async () => {
  const { id: response, output } = await client.responses.create({ model: 'm', input: 'x' })
  const [item] = output as [OpenAI.Responses.ResponseOutputMessage]
  const reference = { type: 'item_reference' as const, id: item.id }
  const made = await client.conversations.create({ items: [reference, user('1')] })
  const added = await client.conversations.create({ items: [user('2')] })
  expect((await client.conversations.items.create(added.id, { items: [reference] })).data).toEqual([item])
  const named = await client.conversations.create()
  await client.responses.create({ model: 'm', input: [reference, user('3')], conversation: named.id })
  await client.responses.delete(response)
  for (const { id } of [made, added, named]) {
    expect(await client.conversations.items.retrieve(item.id, { conversation_id: id })).toEqual(item)
    await client.responses.create({ model: 'm', input: 'Go on', conversation: id })
    expect(contents(chat.seen.at(-1))).toContain(item.content[0]?.type === 'output_text' && item.content[0].text)
  }
  for (const call of [
    () => client.conversations.create({ items: [reference] }),
    () => client.conversations.items.create(made.id, { items: [{ type: 'item_reference', id: 'msg_nothing' }] }),
  ])
    await expect(call()).rejects.toMatchObject({ status: 404 })
})

test('what was said and what a tool made of a call is complete', async () => {
  const { id } = await client.conversations.create({
    items: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'o' },
    ],
  })
  expect(await all(id)).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
})

test('a conversation that is too long can be read, and what adds to it is refused by name', async () => {
  // So much may take a busy store longer than a request waits.
  const patient = client.withOptions({ maxRetries: 10 })
  const long = { items: [user('a'.repeat(11 * 1024 * 1024))] }
  const { id } = await patient.conversations.create(long)
  await patient.conversations.items.create(id, long)
  const tooLong = (param: string): object => ({ status: 413, param, message: expect.stringContaining('begin another one') })
  const seen = chat.seen.length
  const input = [user('b'.repeat(3 * 1024 * 1024))]
  await expect(patient.responses.create({ model: 'm', input, conversation: id })).rejects.toMatchObject(tooLong('conversation'))
  await expect(patient.conversations.items.create(id, { items: input })).rejects.toMatchObject(tooLong('conversation_id'))
  // No provider is asked for what cannot be kept.
  expect(chat.seen.length).toBe(seen)
  expect(textsOf((await patient.conversations.items.list(id, { limit: 1 })).data)).toEqual([long.items[0]?.content])
})

test('the session of the Agents SDK keeps its conversation here', async () => {
  const session = new OpenAIConversationsSession({ client })
  const agent = new Agent({ name: 'Agent', model: new OpenAIResponsesModel(client, 'm') })
  const runner = new Runner({ tracingDisabled: true })
  const first = await runner.run(agent, 'My name is Ada.', { session })
  const second = await runner.run(agent, 'What is my name?', { session })
  expect(contents(chat.seen.at(-1))).toEqual(['My name is Ada.', first.finalOutput, 'What is my name?'])
  await session.popItem()
  const said = ['My name is Ada.', first.finalOutput, 'What is my name?', second.finalOutput]
  expect(textsOf(await all(await session.getSessionId()))).toEqual(said.slice(0, 3))
  await session.clearSession()
  await runner.run(agent, 'Who am I?', { session })
  expect(contents(chat.seen.at(-1))).toEqual(['Who am I?'])
})

test.each(['m', 'local', 'official'])('the Agents SDK calls a tool of %s within a conversation', async model => {
  const { id } = await client.conversations.create()
  const weather = tool({
    name: 'weather',
    description: 'The weather',
    parameters: z.object({ city: z.string() }),
    execute: async () => 'sunny',
  })
  const agent = new Agent({ name: 'Agent', model: new OpenAIResponsesModel(client, model), tools: [weather] })
  const runner = new Runner({ tracingDisabled: true })
  for (const input of ['How is Rome?', 'And now?']) await runner.run(agent, input, { conversationId: id })
  const items = await all(id)
  expect(new Set(idsOf(items)).size).toBe(items.length)
  expect((items as { type: string }[]).filter(({ type }) => type === 'function_call_output').length).toBe(model === 'm' ? 2 : 0)
})

test('patterns look at what is added to a conversation, and at what is read of it', async () => {
  const masked = await client.conversations.create({ items: [user('About Blue Heron')] })
  const added = await client.conversations.items.create(masked.id, { items: [user('Blue Heron again'), user('Red Heron')] })
  expect(textsOf(added.data)).toEqual(['[name] again', '[other]'])
  expect(textsOf(await all(masked.id))).toEqual(['About [name]', '[name] again', '[other]'])
  const [last] = idsOf(added.data).slice(-1) as [string]
  expect(textsOf([await client.conversations.items.retrieve(last, { conversation_id: masked.id })])).toEqual(['[other]'])
  for (const call of [
    () => client.conversations.create({ items: [user('the merger')] }),
    () => client.conversations.items.create(masked.id, { items: [user('the merger')] }),
  ])
    await expect(call()).rejects.toMatchObject({ status: 403, code: 'blocked_pattern' })
})

test('what is wrong with a request is said', async () => {
  const { id } = await client.conversations.create()
  const { id: response } = await client.responses.create({ model: 'm', input: 'x' })
  const both = { model: 'm', input: 'x', conversation: id, previous_response_id: response }
  await expect(client.responses.create({ model: 'official', input: 'x', conversation: id, background: true })).rejects.toMatchObject({
    status: 400,
    param: 'conversation',
    message: expect.stringContaining('background'),
  })
  await expect(client.responses.create(both)).rejects.toMatchObject({ status: 400, param: 'previous_response_id' })
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${gateway.url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-of-ada', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  for (const [path, body, param] of [
    ['/conversations', { metadata: { a: 1 } }, 'metadata.a'],
    ['/conversations', { items: Array.from({ length: 21 }, () => user('x')) }, 'items'],
    [`/conversations/${id}/items`, {}, 'items'],
    ['/responses', { model: 'm', input: 'x', conversation: '' }, 'conversation'],
    ['/responses', { model: 'm', input: 'x', conversation: { id: '' } }, 'conversation.id'],
  ] as const) {
    const refused = await post(path, body)
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }])
  }
  await expect(client.conversations.items.list(id, { limit: 1000 })).rejects.toMatchObject({ status: 400, param: 'limit' })
  // An id of one kind is none of the other.
  for (const call of [
    () => client.conversations.retrieve(response),
    () => client.responses.retrieve(id),
    () => client.responses.delete(id),
    () => client.responses.retrieve(`conversation/${id}`),
  ])
    await expect(call()).rejects.toMatchObject({ status: 404 })
  await expect(client.responses.create({ model: 'm', input: 'x', previous_response_id: id })).rejects.toMatchObject({ status: 400 })
})

test('a gateway without a store says that it keeps none', async () => {
  const bare = await stage.start({ store: null, keys: [{ name: 'ada', value: 'key-of-ada' }] })
  const without = new OpenAI({ apiKey: 'key-of-ada', baseURL: `${bare.url}/v1`, maxRetries: 0 })
  await expect(without.conversations.create()).rejects.toMatchObject({ status: 501, message: expect.stringContaining('conversations') })
})
