// Tasks and money: what makes something new is charged, and requests about it are free.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '../polling.js'
import { createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
let server: Server
const asked: string[] = []
/** An upstream, and a model whose film of four seconds costs 0.4. */
let file: Record<string, unknown>

beforeAll(async () => {
  stage = await createStage()
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const id = `video_${String(asked.length).padStart(12, '0')}`
    const video = { id, object: 'video', model: 'sora-2', status: 'queued', progress: 0, created_at: 1, seconds: '4', size: '1280x720' }
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify(video)))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  file = {
    upstreams: { up: { provider: 'openai', base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret: 'none' } },
    models: { film: { targets: [{ upstream: 'up', model: 'sora-2' }] } },
  }
  gateway = await stage.start({
    ...file,
    keys: [{ name: 'file', value: FILE_KEY, budget: { limit: '0.7/day', when_spent: 'warn' } }],
  })
})
afterAll(async () => {
  await stage?.close()
  server?.close()
})

const askAt = (url: string, key: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}/v1/videos${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
const ask = (path: string, body?: object): Promise<Response> => askAt(gateway.url, FILE_KEY, path, body)

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

test('a budget that is spent refuses what costs nothing until it is there', async () => {
  const key = { name: 'strict', value: 'key-that-is-strict', budget: '0.7/day' }
  const own = await stage.start({ ...file, keys: [key] })
  const make = async (url: string): Promise<number> => (await askAt(url, key.value, '', { model: 'film', prompt: 'x' })).status
  expect([await make(own.url), await make(own.url)]).toEqual([200, 200])
  // Meanwhile the ledger counts both, and the worker hears of it.
  await until(
    () => exported<Row>(own),
    found => found.length >= 2,
  )
  const later: number[] = []
  for (const end = performance.now() + 2_000; performance.now() < end; await sleep(50)) later.push(await make(own.url))
  expect(new Set(later)).toEqual(new Set([429]))
  await own.stop()
  const again = await stage.start({ ...file, keys: [key] }, own.folder)
  expect([await make(again.url), await make(again.url)]).toEqual([429, 429])
})

test('the ledger has the length of a video without a price, also where only its request tells it', async () => {
  const own = await stage.start({
    admin: { listen: '127.0.0.1:0' },
    upstreams: { k: { provider: 'kling', base: stage.simulator.url, secret: 'access:secret' } },
    models: { film: { targets: [{ upstream: 'k', model: 'sim' }] } },
  })
  expect((await askAt(own.url, FILE_KEY, '', { model: 'film', prompt: 'x', seconds: '10' })).status).toBe(200)
  const [row] = await until(
    () => exported<Row & { second: number | null }>(own),
    found => found.length === 1,
  )
  expect(row).toMatchObject({ second: 10, charge: null })
  expect((await own.admin<{ rows: unknown[] }>('GET', '/usage?by=model')).body.rows).toMatchObject([{ model: 'film', n: 1, unpriced: 1 }])
  const { admin } = JSON.parse(own.log.find(line => line.includes('control process is ready')) as string) as { admin: string }
  expect(await (await fetch(`${admin}/metrics`)).text()).toMatch(/^sluice_unpriced_total\{.*model="film".*\} 1$/m)
  await own.stop()
})

const OWN = `
title: Test
source: this test
read: 2026-11-22
providers: [openai]
models:
  spoken: { prices: [{ from: 2026-01-01, character: { price: 1, per: thousand } }] }
  drawn: { prices: [{ from: 2026-01-01, image: 0.05 }] }
`

test('a request reserves what can be counted in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-units-'))
  mkdirSync(join(folder, 'models'))
  writeFileSync(join(folder, 'models/own.yaml'), OWN)
  const [spoken, drawn] = ['spoken', 'drawn'].map(name => ({ targets: [{ upstream: 'up', model: 'sim', known_as: name }] }))
  const keys = ['speaker', 'painter'].map(name => ({ name, value: `key-of-the-${name}`, budget: '0.15/day' }))
  const own = await stage.start({ models: { spoken, drawn }, keys }, folder)
  const make = async (key: string, path: string, body: object): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${own.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    await response.arrayBuffer()
    return response.status
  }
  const speak = () => make('key-of-the-speaker', 'audio/speech', { model: 'spoken', input: 'x'.repeat(100), voice: 'alloy' })
  const paint = () => make('key-of-the-painter', 'images/generations', { model: 'drawn', prompt: 'x', n: 2 })
  // Each costs 0.1: there is never money for two, even at once.
  for (const one of [speak, paint]) {
    expect((await Promise.all([one(), one(), one()])).sort()).toEqual([200, 429, 429])
    expect(await one()).toBe(429)
  }
  await own.stop()
  rmSync(folder, { recursive: true })
})
