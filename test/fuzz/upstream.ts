// The upstream of the fuzz test: it sends the bytes of a case, whatever they are, and a valid answer by default.

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'

export interface RawUpstream {
  url: string
  /** What is sent to the request that has this word in its body; `isLeftOpen` keeps the connection. */
  answers: Map<string, { bytes: Buffer; isLeftOpen: boolean }>
  /** Requests that hold no JSON. */
  wrong: string[]
  stop(): Promise<void>
}

/** `good` gives the bytes of a good answer to a path and a body. */
export async function startRawUpstream(good: (path: string, body: string) => Buffer): Promise<RawUpstream> {
  const answers: RawUpstream['answers'] = new Map()
  const wrong: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let received = Buffer.alloc(0)
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = received.toString('latin1', 0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (received.length < end + 4 + length) return
      const body = received.toString('utf8', end + 4, end + 4 + length)
      received = Buffer.alloc(0)
      if (length > 0 && !isJson(body)) wrong.push(`${head.split('\r\n')[0]}: ${body.slice(0, 300)}`)
      const answer = answers.get(/fuzz-\d+-\d+/.exec(body)?.[0] ?? '')
      const path = head.split(' ')[1] ?? ''
      socket.write(answer?.bytes ?? good(path, body))
      if (answer?.isLeftOpen === false) socket.end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    wrong,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise(done => server.close(done))
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
