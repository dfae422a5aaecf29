// Kept conversations on several instances that share a store, and when that store is away.

import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contents, startChat } from './chat-provider.js'
import { createStage, type Instance, type Stage } from './stage.js'
import { onPostgres } from './stores.js'

onPostgres('on Postgres', postgres => {
  let stage: Stage
  let chat: Awaited<ReturnType<typeof startChat>>
  let clients: OpenAI[]

  beforeAll(async () => {
    stage = await createStage()
    chat = await startChat()
    const store = await postgres().database()
    const file = {
      store,
      seal: ['a secret of all instances'],
      upstreams: {
        chat: { provider: 'mistral', base: chat.url, secret: 'none' },
        slow: { provider: 'mistral', base: stage.simulator.url, secret: 'none' },
      },
      models: { m: { targets: [{ upstream: 'chat', model: 'x' }] }, slow: { targets: [{ upstream: 'slow', model: 'sim-200-20ms' }] } },
      keys: [{ name: 'ada', value: 'key-of-ada' }],
    }
    const instances: Instance[] = [await stage.start(file), await stage.start(file)]
    clients = instances.map(({ url }) => new OpenAI({ apiKey: 'key-of-ada', baseURL: `${url}/v1`, maxRetries: 0 }))
  })
  afterAll(async () => {
    await stage?.close()
    chat?.server.close()
  })

  test.each([false, true])('an answer that its client has is in the conversation at every instance; stream: %s', async stream => {
    const { id } = await (clients[0] as OpenAI).conversations.create()
    const said: unknown[] = []
    for (let turn = 0; turn < 12; turn++) {
      const client = clients[turn % 2] as OpenAI
      const asked = { model: 'm', input: `Turn ${turn}`, conversation: id }
      const answer = await (stream ? client.responses.stream(asked).finalResponse() : client.responses.create(asked))
      said.push(asked.input)
      expect(contents(chat.seen.at(-1))).toEqual(said)
      said.push(answer.output_text)
    }
  })

  test('an answer that cannot become part of its conversation does not look complete', async () => {
    const client = clients[0] as OpenAI
    const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'First' }] })
    const types: string[] = []
    const read = async (): Promise<void> => {
      for await (const event of await client.responses.create({ model: 'slow', input: 'Second', conversation: id, stream: true })) {
        types.push(event.type)
        if (types.length === 10) await postgres().stop()
      }
    }
    await expect(read()).rejects.toThrow('The store cannot be reached')
    expect(types.filter(type => type === 'response.output_text.delta').length).toBeGreaterThan(1)
    expect(types).not.toContain('response.completed')
    await postgres().start()
    const texts = async (): Promise<unknown[]> => {
      const { data } = await client.conversations.items.list(id)
      return data.map(item => 'content' in item && item.content?.[0])
    }
    await expect.poll(() => texts().catch(() => []), { timeout: 20_000 }).toMatchObject([{ text: 'First' }])
  })
})
