// With a store, the control process writes most lines of the access log: they are those that the worker would write, and none
// is lost.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../polling.js'
import { ask, createStage, FILE_KEY, type Instance, type Stage } from './stage.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

type Line = Record<string, unknown>

const linesOf = ({ log }: Instance): Line[] => log.filter(line => line.includes('"msg":"request"')).map(line => JSON.parse(line) as Line)
/** The lines in the order of the clients' ids. */
const sorted = (gateway: Instance): Line[] =>
  linesOf(gateway).sort((left, right) => String(left['client_id']).localeCompare(String(right['client_id'])))

const TIMES = new Set(['time', 'first_byte', 'first_token', 'total', 'connect', 'headers', 'first_event'])
const IDS = new Set(['id', 'request_id'])
/** A line without what differs between two exchanges: times and ids are only said to be there. */
const shapeOf = (line: object): unknown =>
  Object.fromEntries(
    Object.entries(line).map(([name, value]) => {
      if (TIMES.has(name)) return [name, typeof value === 'number' && value >= 0]
      if (IDS.has(name)) return [name, typeof value === 'string' && value !== '']
      return [name, name === 'upstream' ? shapeOf(value as object) : value]
    }),
  )

const file = (): Record<string, unknown> => ({
  log: { access: true },
  upstreams: {
    up: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
    away: { provider: 'openai', base: 'http://127.0.0.1:1', secret: 'none' },
  },
  models: {
    sim: { targets: [{ upstream: 'up' }] },
    priced: { targets: [{ upstream: 'up', model: 'sim' }], price: { input: 1, output: 5 } },
    unknown: { targets: [{ upstream: 'up', model: 'none' }] },
    failing: { targets: [{ upstream: 'away' }] },
    // The first one fails always: with equal priorities chance would choose.
    second: {
      targets: [
        { upstream: 'away', priority: 1 },
        { upstream: 'up', model: 'sim', priority: 2 },
      ],
    },
  },
})

/** Requests that end well and badly, each with an id of the client's. Resolves with how many they are. */
async function callAll({ url }: Instance): Promise<number> {
  const post = (path: string, body: unknown): ((headers: Record<string, string>) => Promise<Response>) => {
    return headers =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  const calls: ((headers: Record<string, string>) => Promise<Response>)[] = [
    post('/v1/chat/completions', { model: 'priced', messages }),
    post('/v1/chat/completions', { model: 'priced', messages, stream: true }),
    post('/v1/messages', { model: 'priced', max_tokens: 50, messages }),
    post('/v1/messages', { model: 'priced', max_tokens: 50, messages, stream: true }),
    post('/v1beta/models/priced:generateContent', { contents: [{ parts: [{ text: 'Hello' }] }] }),
    post('/v1/embeddings', { model: 'priced', input: 'Hello' }),
    post('/v1/images/generations', { model: 'priced', prompt: 'Hello', size: '1024x1024' }),
    post('/v1/chat/completions', { model: 'unknown', messages }),
    post('/v1/chat/completions', { model: 'failing', messages }),
    post('/v1/chat/completions', { model: 'second', messages }),
    post('/v1/chat/completions', { model: 'none', messages }),
    post('/v1/chat/completions', { model: 'priced' }),
    headers => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${FILE_KEY}`, ...headers } }),
    headers => fetch(`${url}/v1/sk-slc_0123456789ABabcdefghijklmnopqrstuvwxyz`, { headers }),
    headers => fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer wrong', ...headers } }),
  ]
  for (const [index, call] of calls.entries()) await (await call({ 'x-request-id': `call-${index + 10} "é"` })).text()
  return calls.length
}

test('a line is the same, whichever process writes it', async () => {
  const [withStore, without] = await Promise.all([stage.start(file()), stage.start({ ...file(), store: null })])
  const lines = await Promise.all(
    [withStore, without].map(async gateway => {
      const count = await callAll(gateway)
      await until(() => linesOf(gateway).length === count)
      return sorted(gateway)
    }),
  )
  const [recorded = [], direct = []] = lines.map(list => list.map(shapeOf))
  expect(recorded.length).toBeGreaterThan(10)
  expect(recorded).toEqual(direct)
  // What a client put into a path is masked by both.
  expect(lines.every(list => list.some(line => String(line['path']).endsWith('***')))).toBe(true)
})

test('no line is lost or doubled when the gateway ends, or while the control process is away', async () => {
  const gateway = await stage.start(file())
  const ids: (string | null)[] = []
  const send = async (): Promise<void> => {
    const response = await ask(gateway.url, FILE_KEY)
    await response.text()
    ids.push(response.headers.get('x-request-id'))
  }
  for (let count = 0; count < 20; count++) await send()
  await until(() => linesOf(gateway).length === 20)
  const [before] = gateway.pids('control/main.js')
  // While it stands still, only the worker writes, and what has failed is for the worker to say.
  process.kill(before as number, 'SIGSTOP')
  await send()
  const failed = await ask(gateway.url, FILE_KEY, 'failing')
  ids.push(failed.headers.get('x-request-id'))
  await until(() => linesOf(gateway).length > 20)
  expect(linesOf(gateway).at(-1)).toMatchObject({ id: ids.at(-1), status: failed.status, level: 40 })
  process.kill(before as number, 'SIGCONT')
  await until(() => linesOf(gateway).length === 22)
  process.kill(before as number, 'SIGKILL')
  await until(() => gateway.log.some(line => line.includes('the control process ended')))
  for (let count = 0; count < 20; count++) await send()
  await until(() => gateway.log.filter(line => line.includes('control process is ready')).length === 2)
  await Promise.all(Array.from({ length: 200 }, send))
  await gateway.stop()
  expect(
    linesOf(gateway)
      .map(line => line['id'])
      .sort(),
  ).toEqual([...ids].sort())
})
