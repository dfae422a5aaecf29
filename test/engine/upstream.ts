// An upstream that does what a test defines, on a real socket.

import { createServer, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** Called with the socket once a whole request is there, and the request. */
export type Script = (socket: Socket, request: Request) => void

export interface Request {
  /** All of it, as it came. */
  text: string
  line: string
  headers: Readonly<Record<string, string>>
  body: string
}

export interface Upstream {
  url: string
  requests: Request[]
  /** How many connections were made, and how many of them are over. */
  opened(): number
  closed(): number
  close(): Promise<void>
}

export async function startUpstream(script: Script): Promise<Upstream> {
  const requests: Request[] = []
  const sockets = new Set<Socket>()
  let opened = 0
  let closed = 0
  const server = createServer({ noDelay: true }, socket => {
    opened++
    sockets.add(socket)
    let waiting = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      closed++
      sockets.delete(socket)
    })
    socket.on('data', chunk => {
      waiting = Buffer.concat([waiting, chunk])
      const end = waiting.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = waiting.toString('latin1', 0, end)
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (waiting.length < end + 4 + length) return
      const [line, ...fields] = head.split('\r\n')
      const request = {
        text: waiting.toString('utf8', 0, end + 4 + length),
        line: line as string,
        headers: Object.fromEntries(
          fields.map(field => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
        ),
        body: waiting.toString('utf8', end + 4, end + 4 + length),
      }
      waiting = waiting.subarray(end + 4 + length)
      requests.push(request)
      script(socket, request)
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    opened: () => opened,
    closed: () => closed,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(done => server.close(done))
    },
  }
}

/** An address to which connecting never succeeds: it listens, but does not accept, and its queue is full. */
export async function startUnreachable(): Promise<Upstream> {
  const gate = new SharedArrayBuffer(4)
  // A thread that sleeps accepts nothing; what has been connected by then fills the queue.
  const code = `
    const { createServer, connect } = require('node:net')
    const { parentPort, workerData } = require('node:worker_threads')
    const server = createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      Atomics.wait(new Int32Array(workerData), 0, 0)
      process.exit()
    })`
  const worker = new Worker(code, { eval: true, workerData: gate })
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const { connect } = await import('node:net')
  const fillers = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  await new Promise(done => setTimeout(done, 100))
  return {
    url: `http://127.0.0.1:${port}`,
    requests: [],
    opened: () => 0,
    closed: () => 0,
    async close() {
      for (const one of fillers) one.destroy()
      Atomics.store(new Int32Array(gate), 0, 1)
      Atomics.notify(new Int32Array(gate), 0)
      await worker.terminate()
    },
  }
}

/** A whole answer with a length; `extra` are header lines. */
export function json(socket: Socket, status: number, body: unknown, extra = ''): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  socket.write(
    `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${extra}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

export const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

/** A piece of a chunked body; the empty one ends it. */
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** A stream of some texts, ended well. */
export const stream =
  (...texts: string[]): Script =>
  socket =>
    socket.write(streamHead + texts.map(chunk).join('') + chunk(''))

/** Writes each part after so many milliseconds, as long as anybody listens. */
export async function trickle(socket: Socket, parts: Iterable<string>, milliseconds: number): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return
    socket.write(part)
    await new Promise(done => setTimeout(done, milliseconds))
  }
}

export function* endless(part: string): Generator<string> {
  for (;;) yield part
}

/** An answer of chat. */
export const answer = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

/** An event of chat's stream with a piece of the text. */
export const piece = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: content === '' ? {} : { content }, finish_reason: finish }] })}\n\n`
