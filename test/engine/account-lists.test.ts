// Patterns that list the models of the provider's account: in every form of a model list, kept while the provider is
// unreachable, and never requested during a client's request.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AccountLists, type Asked } from '../../cli/account-lists.js'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { PATIENCE } from '../polling.js'

/** What the provider lists, or how it fails. */
let listed: unknown = { data: [{ id: 'one' }, { id: 'two' }, { id: 'two' }, { id: 'with blank' }, { id: 7 }] }
let isAway = false
const asked: IncomingMessage[] = []
const server = createServer((request, response) => {
  asked.push(request)
  response.statusCode = isAway ? 503 : 200
  response.end(isAway ? '' : JSON.stringify(listed))
})
let base: string
let gateway: TestGateway
const file = (): Record<string, unknown> => ({
  upstreams: { mine: { provider: 'openai', base, secret: 'sk-mine' }, google: { provider: 'gemini', base, secret: 'sk-google' } },
  models: { 'mine/*': { targets: [{ upstream: 'mine' }], list: 'account' } },
})

beforeAll(async () => {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  gateway = await startGateway(file())
})
afterAll(async () => {
  await gateway?.close()
  server.closeAllConnections()
  await new Promise(done => server.close(done))
})

async function names(path: string, headers: Record<string, string>, of: (body: never) => string[]): Promise<string> {
  const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${KEY}`, ...headers } })
  return of((await response.json()) as never).join()
}
const chat = (): Promise<string> => names('/v1/models', {}, ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id))

const soon = <Value>(read: () => Promise<Value>, wanted: Value): Promise<void> =>
  expect.poll(read, { timeout: PATIENCE, interval: 10 }).toEqual(wanted)

test('the list of the account is shown in every dialect', async () => {
  await soon(chat, 'mine/one,mine/two')
  const messages = await names('/v1/models', { 'anthropic-version': '2023-06-01' }, ({ data }: { data: { id: string }[] }) =>
    data.map(({ id }) => id),
  )
  const generate = await names('/v1beta/models', { 'x-goog-api-key': KEY }, ({ models }: { models: { name: string }[] }) =>
    models.map(({ name }) => name),
  )
  expect([messages, generate]).toEqual(['mine/one,mine/two', 'models/mine/one,models/mine/two'])
  expect(asked[0]?.url).toBe('/v1/models')
  expect(asked[0]?.headers.authorization).toBe('Bearer sk-mine')
})

test('no request of a client causes a call for the list', async () => {
  const before = asked.length
  await chat()
  await fetch(`${gateway.url}/v1/models/mine%2Fone`, { headers: { authorization: `Bearer ${KEY}` } })
  expect(asked.length).toBe(before)
})

test('while a provider is unreachable its last list stays, and the log says so once', async () => {
  isAway = true
  await gateway.rewrite({ grace: '2s' })
  await soon(async () => gateway.log.some(line => line.upstream === 'mine' && line.rule === 'online/status'), true)
  expect(await chat()).toBe('mine/one,mine/two')
  isAway = false
  listed = { data: [{ id: 'three' }] }
  await gateway.rewrite({ grace: '1s' })
  await soon(chat, 'mine/three')
  expect(gateway.log.filter(line => line.rule === 'online/status')).toHaveLength(1)
})

test('a list in pages is requested as one page, and names lose their prefix', async () => {
  listed = { models: [{ name: 'models/gemini-x' }], nextPageToken: 'more' }
  await gateway.rewrite({ models: { 'google/*': { targets: [{ upstream: 'google' }], list: 'account' } } })
  await soon(chat, 'google/gemini-x')
  expect(asked.at(-1)?.url).toBe('/v1beta/models?pageSize=1000')
  expect(gateway.log.some(line => String(line.msg).includes('more models than lists show'))).toBe(true)
})

test('the list is requested again at intervals', async () => {
  listed = { data: [{ id: 'one' }] }
  const { plan } = await import('./plan.js')
  const lists = new AccountLists(pino({ level: 'silent' }), 20)
  const target = { provider: plan.providers.openai, bindings: new Map(), secret: 'sk' }
  const told: string[] = []
  const whom = { gateway: file(), providers: plan.providers, accounts: () => new Map([['mine', target]]) } as unknown as Asked
  lists.follow(whom, () => told.push(String(lists.lists.get('mine'))))
  await soon(async () => told.length, 1)
  listed = { data: [{ id: 'two' }] }
  await soon(async () => told.length, 2)
  lists.close()
  expect(told).toEqual(['one', 'two'])
})

test('an upstream whose provider has no list is a finding', async () => {
  const wrong = {
    upstreams: { v: { provider: 'voyage', secret: 'x' } },
    models: { 'v/*': { targets: [{ upstream: 'v' }], list: 'account' } },
  }
  await expect(gateway.rewrite(wrong)).rejects.toThrow(/model\/list/)
})
