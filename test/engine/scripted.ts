// An upstream that does what a test says, on a real socket.

import { createServer, type Socket } from 'node:net'

/** Called with the socket once a whole request is there, and the request's text. */
export type Script = (socket: Socket, request: string) => void

export async function startUpstream(
  script: Script,
): Promise<{ url: string; requests: string[]; closed: () => number; close(): Promise<void> }> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let closed = 0
  const server = createServer(socket => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => undefined)
    socket.on('close', () => {
      closed++
      sockets.delete(socket)
    })
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      requests.push(text)
      const request = text
      text = ''
      script(socket, request)
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    closed: () => closed,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(done => server.close(done))
    },
  }
}

export const json = (socket: Socket, status: number, body: unknown, headers = ''): void => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  socket.write(
    `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

export const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

export const answer = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
export const piece = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: content === '' ? {} : { content }, finish_reason: finish }] })}\n\n`
