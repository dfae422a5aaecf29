// Tasks and money: what makes something new is charged, and requests about it are free.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
let server: Server
const asked: string[] = []

beforeAll(async () => {
  stage = await createStage()
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const id = `video_${String(asked.length).padStart(12, '0')}`
    const video = { id, object: 'video', model: 'sora-2', status: 'queued', progress: 0, created_at: 1, seconds: '4', size: '1280x720' }
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify(video)))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  gateway = await stage.start({
    upstreams: { up: { provider: 'openai', base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'none' } },
    models: { film: { targets: [{ upstream: 'up', model: 'sora-2' }] } },
    // A film of four seconds costs 0.4.
    keys: [{ name: 'file', value: FILE_KEY, budget: { limit: '0.7/day', when_spent: 'warn' } }],
  })
})
afterAll(async () => {
  await stage?.close()
  server?.close()
})

const ask = (path: string, body?: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/videos${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })

interface Row {
  route: string
  status: number
  charge: number | null
  /** Null where no model was asked for. */
  model: string | null
}

test('a remix costs what a video costs, and its state is free', async () => {
  const { id } = (await (await ask('', { model: 'film', prompt: 'x' })).json()) as { id: string }
  const remix = await ask(`/${id}/remix`, { prompt: 'y' })
  const made = (await remix.json()) as { id: string }
  expect([remix.status, asked.at(-1)]).toEqual([200, 'POST /v1/videos/video_000000000001/remix'])
  expect([(await ask(`/${made.id}`)).status, (await ask(`/${id}`)).status]).toEqual([200, 200])
  const rows = await until(
    () => exported<Row>(gateway),
    found => found.length >= 4,
  )
  const charged = rows.filter(({ status }) => status === 200).map(({ route, model, charge }) => [route, model, charge ?? 0])
  expect(charged.sort()).toEqual([
    ['videos.create', 'film', 400_000_000],
    ['videos.remix', 'film', 400_000_000],
    ['videos.retrieve', null, 0],
    ['videos.retrieve', null, 0],
  ])
  const spent = await ask(`/${id}/remix`, { prompt: 'y' })
  expect([spent.status, spent.headers.get('x-sluice-budget')]).toEqual([200, expect.stringContaining('is spent')])
})
