// Bodies in pieces of one byte, in both directions: they take hardly more memory than in one piece.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { settle, still } from '../polling.js'
import { dialects } from './dialects.js'
import { ask, bytesOf, closing, dial } from './fake-upstreams.js'
import { chunk, type Script, startUpstream } from './upstream.js'

const COUNT = 1_000_000
/** Bytes of the heap; a buffer for each byte takes about a hundred million. */
const MOST = 20_000_000
const TINY = chunk('x')

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
/** What the upstream does with a request. */
let script: Script
/** What an upstream has got that never answers. */
let got = ''
let child: ChildProcess
let gateway: { url: string }

const next = <Message>(): Promise<Message> => new Promise(done => child.once('message', message => done(message as Message)))

/** The bytes of the gateway's heap after a collection. */
async function heap(): Promise<number> {
  const answer = next<{ heap: number }>()
  child.send('collect')
  return (await answer).heap
}

beforeAll(async () => {
  const talking = closing(await startUpstream((socket, request) => script(socket, request)))
  const sockets = new Set<Socket>()
  const silent = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', part => {
      got += part.toString('latin1')
    })
  })
  await new Promise<void>(done => silent.listen(0, '127.0.0.1', done))
  closing({
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise(done => silent.close(done))
    },
  })
  const { port } = silent.address() as { port: number }
  const path = join(folder, 'gateway.yaml')
  const file = {
    listen: '127.0.0.1:0',
    keys: [{ name: 'test', value: KEY }],
    upstreams: {
      talking: { provider: 'openai', base: talking.url, secret: 's1' },
      silent: { provider: 'openai', base: `http://127.0.0.1:${port}`, secret: 's2' },
    },
    models: { m: { targets: [{ upstream: 'talking' }] }, sound: { targets: [{ upstream: 'silent' }] } },
    relay: { r: { path: '/r/*', upstream: 'silent' } },
  }
  writeFileSync(path, dump(file))
  child = fork(join(import.meta.dirname, 'allocation-gateway.mjs'), [path], { execArgv: ['--expose-gc'] })
  gateway = await next<{ url: string }>()
})

afterAll(() => {
  child.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes so many pieces of one byte; resolves when the other side has taken them. */
async function drip(socket: Socket): Promise<void> {
  const some = TINY.repeat(1000)
  for (let count = 0; count < COUNT; count += 1000) if (!socket.write(some)) await new Promise(done => socket.once('drain', done))
}

test.each([
  ['an answer', false, 'application/json', '{"id":"'],
  ['an event', true, 'text/event-stream', 'data: {"id":"'],
])('%s of an upstream', async (_name, isStream, type, beginning) => {
  const sent = new Promise<Socket>(resolve => {
    script = async socket => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n${chunk(beginning)}`)
      await drip(socket)
      resolve(socket)
    }
  })
  const before = await heap()
  const answered = ask(gateway, { dialect: dialects.chat, stream: isStream })
  const socket = await sent
  expect((await heap()) - before).toBeLessThan(MOST)
  socket.destroy()
  expect((await answered).status).toBe(502)
})

test('a file of a form, for an upstream that keeps all of it waiting', async () => {
  const before = await heap()
  const wire = await dial(gateway)
  const type = 'multipart/form-data; boundary=b'
  const part = (about: string): string => `--b\r\ncontent-disposition: form-data; ${about}\r\n\r\n`
  wire.write(bytesOf('/v1/audio/transcriptions', { authorization: `Bearer ${KEY}`, 'content-type': type, 'transfer-encoding': 'chunked' }))
  wire.write(chunk(`${part('name="file"; filename="a.wav"')}`))
  await drip(wire.socket)
  expect((await heap()) - before).toBeLessThan(MOST)
  wire.socket.destroy()
})

test('a body that is relayed: what comes at once goes on at once', async () => {
  got = ''
  const wire = await dial(gateway)
  wire.write(bytesOf('/r/v1/files', { authorization: `Bearer ${KEY}`, 'transfer-encoding': 'chunked' }))
  const count = 20_000
  const bytes = (): number => got.slice(got.indexOf('\r\n\r\n')).split('x').length - 1
  // Until the upstream is connected, the body is held as a whole.
  wire.write(TINY)
  await settle(bytes, 1)
  wire.write(TINY.repeat(count - 1))
  await settle(bytes, count)
  expect(await still(bytes, 50)).toBe(count)
  expect(got.split(TINY).length).toBeLessThan(count / 10)
  wire.socket.destroy()
})
