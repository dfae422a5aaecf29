// The allocation of a request and of an event has a ceiling: a guard of speed that does not depend on the machine. The figures
// are bytes of the heap for each exchange, between two collections, a third above the measured ones.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { type Dialect, dialects } from './dialects.js'
import { ask, closing } from './fake-upstreams.js'
import { json, startUpstream, stream } from './upstream.js'

const EVENTS = 50
const COUNT = 400
const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
let child: ChildProcess
let url: string

const next = <Message>(): Promise<Message> => new Promise(done => child.once('message', message => done(message as Message)))
async function told(word: 'collect' | 'look'): Promise<{ heap: number; collections: number }> {
  const answer = next<{ heap: number; collections: number }>()
  child.send(word)
  return answer
}

const { chat, messages } = dialects
const manyEvents = (dialect: Dialect): string => dialect.begin + dialect.text(' word').repeat(EVENTS) + dialect.end

beforeAll(async () => {
  const upstreams: Record<string, unknown> = {}
  for (const dialect of [chat, messages]) {
    const upstream = closing(
      await startUpstream((socket, request) => {
        if (request.body.includes('"stream":true')) stream(manyEvents(dialect))(socket, request)
        else json(socket, 200, dialect.answer)
      }),
    )
    upstreams[dialect.name] = {
      provider: dialect.name === 'chat' ? 'together' : dialect.provider,
      base: upstream.url,
      secret: 'some-secret',
    }
  }
  const path = join(folder, 'gateway.yaml')
  const models = Object.fromEntries(['chat', 'messages'].map(name => [name, { targets: [{ upstream: name }] }]))
  writeFileSync(path, dump({ listen: '127.0.0.1:0', keys: [{ name: 'test', value: KEY }], upstreams, models }))
  // A young generation in which nothing has to be collected while it is measured.
  child = fork(join(import.meta.dirname, 'allocation-gateway.mjs'), [path], {
    execArgv: ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256'],
  })
  url = (await next<{ url: string }>()).url
})

afterAll(() => {
  child.kill()
  rmSync(folder, { recursive: true, force: true })
})

async function exchange(dialect: Dialect, model: string, isStream: boolean): Promise<void> {
  const response = await ask({ url }, { dialect, model, stream: isStream })
  expect(response.status).toBe(200)
  await response.arrayBuffer()
}

/** Bytes of the heap that one exchange allocates. */
async function allocated(dialect: Dialect, model: string, isStream: boolean): Promise<number> {
  // Until it is compiled, code allocates more, and is itself on the heap.
  for (let count = 0; count < COUNT; count++) await exchange(dialect, model, isStream)
  for (let tries = 0; tries < 5; tries++) {
    const before = await told('collect')
    for (let count = 0; count < COUNT; count++) await exchange(dialect, model, isStream)
    const after = await told('look')
    if (after.collections === 0) return (after.heap - before.heap) / COUNT
  }
  throw new Error('the heap was collected while it was measured')
}

describe('an exchange allocates no more than', () => {
  test.each<[string, Dialect, string, boolean, number]>([
    ['JSON in the same dialect', chat, 'chat', false, 30_000],
    ['JSON, translated', messages, 'chat', false, 51_000],
    ['a stream in the same dialect', chat, 'chat', true, 100_000],
    ['a stream, translated', messages, 'chat', true, 140_000],
    ['a stream, translated the other way', chat, 'messages', true, 122_000],
  ])('%s', async (_name, dialect, model, isStream, ceiling) => {
    expect(await allocated(dialect, model, isStream)).toBeLessThan(ceiling)
  })
})
