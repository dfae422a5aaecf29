// Sockets and money: what a client has got is charged, although it left before the provider reported it.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
let server: Server
let sockets: WebSocketServer

beforeAll(async () => {
  stage = await createStage()
  server = createServer()
  sockets = new WebSocketServer({ server })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  gateway = await stage.start({
    upstreams: { up: { provider: 'openai', base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'none' } },
    models: { voice: { targets: [{ upstream: 'up', model: 'gpt-realtime' }], price: { input: 10, output: 1000 } } },
    keys: [{ name: 'file', value: FILE_KEY, budget: '1/day' }],
  })
})
afterAll(async () => {
  await stage?.close()
  for (const client of sockets?.clients ?? []) client.terminate()
  server?.close()
})

interface Row {
  status: number
  charge: number
  input: number
  output: number
  estimated: boolean
}

interface Session {
  client: WebSocket
  /** What the client got. */
  events: { type: string; error?: { code: string } }[]
  /** Sends events of the provider, and waits until the client has them. */
  say(...events: object[]): Promise<void>
}

async function connect(): Promise<Session> {
  const side = new Promise<WebSocket>(done => sockets.once('connection', done))
  const client = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=voice`, {
    headers: { authorization: `Bearer ${FILE_KEY}` },
  })
  const events: Session['events'] = []
  client.on('message', data => events.push(JSON.parse(String(data))))
  await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject))
  const upstream = await side
  return {
    client,
    events,
    async say(...said) {
      const wanted = events.length + said.length
      for (const one of said) upstream.send(JSON.stringify(one))
      await until(
        async () => events.length,
        count => count >= wanted,
      )
    },
  }
}

const delta = (name: string): object => ({
  type: `response.${name}.delta`,
  item_id: 'item_1',
  delta: 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=',
})
const done = (input: number, output: number): object => ({
  type: 'response.done',
  response: { usage: { input_tokens: input, output_tokens: output } },
})
const other = { type: 'rate_limits.updated', rate_limits: [] }

async function lastRow(count: number): Promise<Row | undefined> {
  const rows = await until(
    () => exported<Row>(gateway),
    found => found.length >= count,
  )
  expect(rows).toHaveLength(count)
  return rows.at(-1)
}

test('a client that leaves before the report is charged for what it got', async () => {
  const { client, say } = await connect()
  await say({ type: 'session.created' }, ...Array.from({ length: 20 }, () => delta('output_text')), delta('output_audio'))
  client.terminate()
  expect(await lastRow(1)).toMatchObject({ status: 101, output: 21, charge: 21_000_000, estimated: true })
})

test('the same in the middle of a later answer; between answers only reports count', async () => {
  const first = await connect()
  await first.say(delta('output_text'), done(100, 50), other, delta('output_text'), delta('output_text'))
  first.client.close()
  expect(await lastRow(2)).toMatchObject({ input: 100, output: 52, estimated: true })
  const second = await connect()
  await second.say(delta('output_text'), delta('output_text'), done(100, 50), other)
  second.client.close()
  expect(await lastRow(3)).toMatchObject({ input: 100, output: 50, estimated: false })
  // An answer that ends without a report.
  const third = await connect()
  await third.say(done(100, 50), delta('output_text'), { type: 'response.done', response: { usage: null } })
  third.client.close()
  expect(await lastRow(4)).toMatchObject({ input: 100, output: 51, estimated: true })
})

test('a session ends when its budget is spent', async () => {
  const { client, events, say } = await connect()
  const closed = new Promise<number>(resolve => client.once('close', resolve))
  await say(done(100, 1_000))
  expect(await closed).toBe(1001)
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'insufficient_quota' } })
  expect((await gateway.admin<{ differences: object }>('GET', '/ledger/verify')).body.differences).toEqual({})
})
