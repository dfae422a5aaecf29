// The connection between a worker and its control process: what each does if the other takes nothing, sends what is no
// message, or begins anew.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serialize } from 'node:v8'
import { afterAll, afterEach, expect, test } from 'vitest'
import type * as RecordModule from '../../control/ledger/record.js'
import type * as WorkersModule from '../../control/workers.js'
import type { MoneyGranted } from '../../engine/budgets/account.js'
import type * as ClientModule from '../../engine/control/client.js'
import type * as FramesModule from '../../engine/control/frames.js'
import type { FromControl, FromWorker } from '../../engine/control/messages.js'
import type * as OutboxModule from '../../engine/control/outbox.js'
import type * as RecordsModule from '../../engine/control/records.js'
import type { Exchange } from '../../engine/core/exchange.js'
import type { KeyConfig } from '../../engine/snapshot/config.js'
import { run } from '../command.js'
import { until } from '../polling.js'
import { createStage, type Stage } from './stage.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { ControlClient } = (await import(built('engine/control/client.js'))) as typeof ClientModule
const { onFrames, sendFrame } = (await import(built('engine/control/frames.js'))) as typeof FramesModule
const { Outbox } = (await import(built('engine/control/outbox.js'))) as typeof OutboxModule
const { FORM } = (await import(built('engine/control/records.js'))) as typeof RecordsModule
const { Workers } = (await import(built('control/workers.js'))) as typeof WorkersModule
const { readBatch } = (await import(built('control/ledger/record.js'))) as typeof RecordModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-connection-'))
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Listener {
  path: string
  sockets: Socket[]
  heard: FromWorker[]
  /** Whether new connections are read. */
  isReading: boolean
}

/** Listens as a control process does, and acknowledges records. */
async function listen(name: string): Promise<Listener> {
  const listener: Listener = { path: join(folder, name), sockets: [], heard: [], isReading: true }
  const server = createServer(socket => {
    listener.sockets.push(socket)
    socket.on('error', () => undefined)
    if (!listener.isReading) return void socket.pause()
    onFrames(socket, value => {
      const message = value as FromWorker
      listener.heard.push(message)
      if (message.type === 'batch') sendFrame(socket, { type: 'ack', seq: message.seq })
    })
  })
  await new Promise<void>(done => server.listen(listener.path, done))
  closing.push(() => {
    server.close()
    for (const socket of listener.sockets) socket.destroy()
  })
  return listener
}

function connected({ path }: Listener): InstanceType<typeof ControlClient> {
  const client = new ControlClient({
    socket: path,
    run: 'run',
    config: 'config',
    size: 10,
    unknown: 1_000,
    stale: 1_000,
    live: () => [],
    condition: () => ({ sockets: 0, bodyBytes: 0, aside: [], isStateUp: undefined }),
  })
  closing.push(() => client.close())
  return client
}

let count = 0
function exchangeOf(key: string): Exchange {
  const log = { key, target: 'up/sim', status: 200, attempts: 1, bytesIn: 1, bytesOut: 1 }
  return { id: String(count++).padStart(32, '0'), startedAt: Date.now(), isAborted: false, log } as unknown as Exchange
}

/** The keys of the records that arrived. */
const keysIn = ({ heard }: Listener): (string | undefined)[] =>
  heard.flatMap(message => (message.type === 'batch' ? readBatch(message).map(({ key }) => key) : []))

test('a control process that takes nothing is given up: little waits for it, and the records arrive on another connection', async () => {
  const listener = await listen('stuck.sock')
  listener.isReading = false
  const client = connected(listener)
  await until(() => listener.sockets.length === 1)
  client.record(exchangeOf('one'), 1, false)
  const input = 'x'.repeat(20 * 1024 * 1024)
  const ask = (): Promise<unknown> =>
    client.ask('keep', { caller: 'one', id: 'a', previous: null, conversation: null, items: [], input, answer: '' }).then(
      () => 'kept',
      () => 'refused',
    )
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['refused', 'refused', 'refused'])
  // Nobody waits for these any more, but they are still in the socket.
  const soon = new Promise(done => setImmediate(done, 'waits'))
  expect(await Promise.race([ask(), soon])).toBe('refused')
  listener.isReading = true
  await until(() => listener.sockets.length === 2)
  await until(() => keysIn(listener).length === 1)
  expect(keysIn(listener)).toEqual(['one'])
  void ask()
  await until(() => listener.heard.some(({ type }) => type === 'ask'))
})

test.each<[string, KeyConfig | null, number]>([
  ['changes', { name: 'old', id: 7 } as KeyConfig, 7],
  ['was just made', null, 8],
])('a key that %s is looked up again, even if that is heard in the same read as its answer', async (_name, before, id) => {
  const listener = await listen(`news-${id}.sock`)
  const client = connected(listener)
  const asked = client.find('text', 'hash')
  const lookups = (): Extract<FromWorker, { type: 'key' }>[] =>
    listener.heard.filter((message): message is Extract<FromWorker, { type: 'key' }> => message.type === 'key')
  await until(() => lookups().length === 1)
  const [socket] = listener.sockets as [Socket]
  socket.cork()
  sendFrame(socket, { type: 'key', ask: lookups()[0]?.ask as number, key: before, seq: 1 })
  sendFrame(socket, { type: 'forget', seq: 2, keys: [id], secrets: ['hash'], ended: [] })
  socket.uncork()
  const found = asked?.then(key => key ?? client.find('text', 'hash'))
  await until(() => lookups().length === 2)
  sendFrame(socket, { type: 'key', ask: lookups()[1]?.ask as number, key: { name: 'new', id } as KeyConfig, seq: 2 })
  expect(await found).toMatchObject({ name: 'new' })
  sendFrame(socket, { type: 'certain', seq: 2 })
  await until(() => client.known('text') !== undefined)
  expect(client.known('text')).toMatchObject({ name: 'new' })
})

test('what a worker has to say on a new connection does not grow with the callers that it served', async () => {
  const listener = await listen('names.sock')
  const client = connected(listener)
  const keys = Array.from({ length: 5_000 }, (_, index) => `jwt:user-${index}`)
  for (const key of keys) client.record(exchangeOf(key), 1, false)
  await until(() => keysIn(listener).length === keys.length)
  for (const socket of listener.sockets) socket.destroy()
  const hellos = (): FromWorker[] => listener.heard.filter(({ type }) => type === 'hello')
  await until(() => hellos().length === 2)
  expect(serialize(hellos()[1]).length).toBeLessThan(2_000)
  client.record(exchangeOf('jwt:user-0'), 1, false)
  await until(() => keysIn(listener).length > keys.length)
  expect(keysIn(listener)).toEqual([...keys, 'jwt:user-0'])
})

test('while nothing is acknowledged, a worker keeps 65,536 records, and tells how many came after them', () => {
  const sent: FromWorker[] = []
  const outbox = new Outbox(message => sent.push(message))
  const exchange = exchangeOf('one')
  for (let index = 0; index < 65_536 + 7; index++) outbox.add(exchange, 1, false)
  expect(outbox.size).toBe(65_536)
  outbox.tellLost()
  expect(sent.at(-1)).toEqual({ type: 'lost', count: 7 })
  for (const message of [...sent]) if (message.type === 'batch') outbox.acknowledged(message.seq)
  expect(outbox.size).toBe(0)
  outbox.add(exchange, 1, false)
  outbox.tellLost()
  expect([outbox.size, sent.filter(({ type }) => type === 'lost').length]).toEqual([1, 1])
})

test("a worker's questions about the money of one account are answered one after the other, those about others meanwhile", async () => {
  const asked: { account: string; answer(): void }[] = []
  const granted: MoneyGranted = { granted: 1, before: 0, left: 0, held: 0 }
  const options: Partial<WorkersModule.WorkersOptions> = {
    path: join(folder, 'workers.sock'),
    run: 'run',
    changes: () => undefined,
    grant: ({ money: { account } }) => new Promise(done => asked.push({ account, answer: () => done(granted) })),
  }
  const workers = new Workers(options as WorkersModule.WorkersOptions)
  await workers.listen()
  closing.push(() => workers.close())
  const socket = connect(options.path as string)
  const answered: number[] = []
  onFrames(socket, value => {
    const message = value as FromControl
    if (message.type === 'money') answered.push(message.ask)
  })
  sendFrame(socket, { type: 'hello', worker: 'w', pid: 1, form: FORM, seq: undefined, run: 'run', config: '' })
  const money = { limit: 9, until: Number.POSITIVE_INFINITY, wanted: 1, least: 1, useful: 1, isFresh: false }
  for (const [index, account] of ['a', 'a', 'a', 'b'].entries())
    sendFrame(socket, { type: 'money', ask: index + 1, n: index + 1, money: { account, ...money } })
  for (const accounts of ['ab', 'aba', 'abaa']) {
    await until(() => asked.some(({ account }) => account === 'b') && asked.length >= accounts.length)
    expect(asked.map(({ account }) => account).join('')).toBe(accounts)
    asked.at(accounts === 'ab' ? 0 : -1)?.answer()
  }
  await until(() => answered.length === 3)
  expect(answered).toEqual([1, 2, 3])
})

test('what serves workers expects none of them back once it is closed', async () => {
  const options: Partial<WorkersModule.WorkersOptions> = { path: join(folder, 'closed.sock'), run: 'run', changes: () => undefined }
  const workers = new Workers(options as WorkersModule.WorkersOptions)
  await workers.listen()
  const socket = connect(options.path as string)
  sendFrame(socket, { type: 'hello', worker: 'w', pid: 1, form: FORM, seq: undefined, run: 'run', config: '' })
  await until(() => workers.all().length === 1)
  await workers.close()
  await until(() => workers.all().length === 0)
  expect(workers.present()).toEqual(new Set())
})

test('a process ends as soon as its records are acknowledged', async () => {
  const script = `
    const { Outbox } = await import('${built('engine/control/outbox.js')}')
    const sent = []
    const outbox = new Outbox(message => sent.push(message))
    const log = { key: 'one', status: 200, attempts: 1, bytesIn: 0, bytesOut: 0 }
    outbox.add({ id: '${'0'.repeat(32)}', startedAt: 1, isAborted: false, log }, 1, false)
    const emptied = outbox.empty()
    for (const { type, seq } of sent) if (type === 'batch') outbox.acknowledged(seq)
    await emptied
    console.log(sent.length > 0, process.getActiveResourcesInfo().filter(name => name === 'Timeout'))`
  expect((await run(process.execPath, ['--input-type=module', '-e', script], folder)).out).toBe('true []\n')
})

test('what is no message ends its connection, and nothing else', async () => {
  const stage: Stage = await createStage()
  closing.push(() => stage.close())
  const gateway = await stage.start()
  const pids = gateway.pids('control/main.js')
  const framed = (body: Uint8Array): Buffer => {
    const head = Buffer.alloc(4)
    head.writeUInt32LE(body.length)
    return Buffer.concat([head, body])
  }
  const hello = serialize({ type: 'hello' })
  for (const bytes of [
    framed(Buffer.from('abcd')),
    framed(Buffer.alloc(0)),
    framed(hello.subarray(0, hello.length - 3)),
    framed(serialize(null)),
    framed(serialize(5)),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    framed(hello),
  ]) {
    const socket = connect(join(gateway.folder, 'data', 'control.sock'))
    socket.on('error', () => undefined)
    const closed = new Promise(done => socket.on('close', done))
    socket.write(bytes)
    await closed
  }
  expect(gateway.pids('control/main.js')).toEqual(pids)
  expect((await gateway.admin('GET', '/whoami')).status).toBe(200)
  expect(gateway.log.filter(line => line.includes('the control process ended'))).toEqual([])
})
