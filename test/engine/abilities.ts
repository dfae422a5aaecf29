// A small API over the built-in ones, as an overlay: everything that the engine can do and no text dialect needs. One provider
// speaks it, another speaks another dialect. It is only data.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

const FORMAT = (more = '', response = 'json'): string => `title: Things\nresponse: ${response}\n${more}error: chat\n`
const ROUTE = (name: string, text: string): string => `name: ${name}\nauth: [bearer]\n${text}`

export const files: Record<string, string> = {
  'schemas/thing/format.yaml': FORMAT(
    'vectors: { path: "data[].vector", form: body.form }\nstream: { flag: body.stream, framing: sse, sentinel: "[DONE]", watch: {} }\n',
  ),
  'schemas/thing/request.yaml':
    'type: object\nrequired: [model]\nproperties:\n  model: { type: string }\n  words: { type: [array, string] }\n  file: {}\n  form: { type: string }\n  stream: { type: boolean }\n',
  'schemas/thing_status/format.yaml': FORMAT(),
  'schemas/thing_list/format.yaml': FORMAT(),
  'schemas/thing_content/format.yaml': FORMAT('', 'bytes'),
  'schemas/work/format.yaml': FORMAT(),
  'schemas/work/request.yaml': 'type: object\n',
  'schemas/work_status/format.yaml': FORMAT(),
  'schemas/talk/format.yaml': `title: Talk
response: json
model: query.model
stream:
  framing: sse
  watch:
    finish: { marker: [done], when: 'true' }
    usage: { marker: ['"usage"'], read: '{ "input": usage.input, "output": usage.output }' }
error: chat
`,
  'routes/things.yaml': [
    ROUTE(
      'thing.create',
      'method: POST\npath: /things\ndialect: thing\nbody: [json, multipart]\nsealed_ids: { members: [id], prefix: thing_ }\nlimits: { body: 200MiB }\n',
    ),
    ROUTE('thing.quick', 'method: POST\npath: /quick\ndialect: thing\nbody: [json]\ndefault_model: m\nerror: messages\n'),
    ROUTE(
      'thing.list',
      'method: GET\npath: /things\ndialect: thing_list\nshared: true\nforward_query: [limit]\nsealed_ids: { members: ["data[].id"], prefix: thing_, query: [after] }\n',
    ),
    ROUTE('thing.status', 'method: GET\npath: /things/{thing}\ndialect: thing_status\nfollow: path.thing\n'),
    ROUTE(
      'thing.content',
      'method: GET\npath: /things/{thing}/content\ndialect: thing_content\nfollow: path.thing\nforward: [range]\nlimits: { total: none }\n',
    ),
    ROUTE('thing.delete', 'method: DELETE\npath: /things/{thing}\ndialect: thing_status\nfollow: path.thing\n'),
    ROUTE(
      'talk',
      'method: GET\npath: /talk\ndialect: talk\nupgrade: websocket\nrelay: { subprotocol: talk, frame: 1MiB, idle: 6s, ping: 500ms, high_water: 64KiB }\nforward: [x-talk]\n',
    ),
  ].join('---\n'),
  'providers/maker.yaml': `title: Maker
base: http://127.0.0.1:1
credential: { header: x-key }
speaks:
  thing: /made
  thing_status: { method: GET, path: '/made/{task}' }
  thing_list: { method: GET, path: /made }
  thing_content: { method: GET, path: '/made/{task}/bytes' }
  talk: /talk
`,
  'providers/worker.yaml': `title: Worker
base: http://127.0.0.1:1
credential: { header: authorization, prefix: 'Bearer ', jwt: { lifetime: 30m } }
speaks:
  work: /work
  work_status: { method: GET, path: '/work/{+task}' }
`,
  'mappings/thing-to-work/mapping.yaml': `title: Things made by workers
split: '[words.{ "model": $$.model, "words": $ }]'
join: '{ "id": $[0].id, "words": [$.words] }'
request: '{ "model": $ctx.model, "word": words, "file": file.data }'
failure: 'status = "bad" ? { "kind": "rate_limit", "message": why }'
response: '{ "id": "deep/" & job, "words": [word], "model": $ctx.requested }'
fields:
  dropped: {}
`,
  'mappings/thing_status-to-work_status/mapping.yaml': `title: Their state
response: '{ "id": $ctx.task, "state": state }'
`,
  'mappings/thing_content-to-work_status/mapping.yaml': `title: Their content
failure: 'state != "done" ? { "kind": "conflict", "message": "It is not done yet.", "code": "not_done" }'
location: url
`,
}

export interface Asked {
  method: string
  url: string
  headers: IncomingMessage['headers']
  length: number
  sha256: string
  body: string
}

/** Bytes that differ at every offset. */
export function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let index = 0; index + 4 <= length; index += 4) bytes.writeUInt32LE((index * 2654435761) >>> 0, index)
  return bytes
}

export const SIZE = 3_000_000
export const content = pattern(SIZE)

/** Both providers in one server, and a socket that says everything back. */
export async function startMaker(): Promise<{ url: string; asked: Asked[]; sockets: WebSocketServer; close(): Promise<void> }> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const hash = createHash('sha256')
    const kept: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      length += chunk.length
      if (length < 100_000) kept.push(chunk)
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one = { method, url, headers, length, sha256: hash.digest('hex'), body: Buffer.concat(kept).toString('utf8') }
      asked.push(one)
      answer(one, response)
    })
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (request.headers['x-talk'] === 'refuse') {
      socket.end('HTTP/1.1 403 No\r\ncontent-type: application/json\r\ncontent-length: 27\r\n\r\n{"error":{"message":"no!"}}')
      return
    }
    asked.push({ method: 'UPGRADE', url: request.url ?? '', headers: request.headers, length: 0, sha256: '', body: '' })
    sockets.handleUpgrade(request, socket, head, ws => sockets.emit('connection', ws, request))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    sockets,
    async close() {
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

function answer({ method, url, headers, body }: Asked, response: ServerResponse): unknown {
  const json = (value: unknown, status = 200): unknown => {
    response.writeHead(status, { 'content-type': 'application/json' })
    return response.end(JSON.stringify(value))
  }
  // Some languages write a slash in JSON with a backslash.
  const withSlash = (more: string): unknown => {
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(`{"id":"raw\\/1-of-the-maker",${more}}`)
  }
  if (url === '/made' && body.includes('slash')) return withSlash('"same":"raw\\/1-of-the-maker"')
  if (url === '/made/raw%2F1-of-the-maker') return withSlash('"state":"running"')
  if (url === '/moved') {
    response.writeHead(302, { location: 'http://[' })
    return response.end()
  }
  if (url === '/made' && method === 'POST')
    return json({ id: 'raw-1-of-the-maker', made: true, data: [{ vector: [0.5, -1, 0.25] }], same: 'raw-1-of-the-maker' })
  if (url === '/made?limit=20000')
    return json({ data: Array.from({ length: 20_000 }, (_, index) => ({ id: `raw-${index}-of-the-maker` })) })
  if (url.startsWith('/made') && url.split('?')[0] === '/made') return json({ data: [{ id: 'raw-1-of-the-maker' }, { id: 'raw-2' }], url })
  if (/^\/made\/[^/]+$/.test(url)) return json({ id: url.split('/')[2], state: 'running' })
  if (url.endsWith('/bytes') || url === '/elsewhere') {
    const range = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '')
    const [from, to] = range ? [Number(range[1]), Number(range[2]) + 1] : [0, SIZE]
    response.writeHead(range ? 206 : 200, {
      'content-type': 'video/mp4',
      'content-length': to - from,
      'accept-ranges': 'bytes',
      ...(range && { 'content-range': `bytes ${from}-${to - 1}/${SIZE}` }),
    })
    return response.end(content.subarray(from, to))
  }
  if (url === '/work') {
    const { word, file } = JSON.parse(body) as { word: string; file?: string }
    return json(word === 'bad' ? { status: 'bad', why: 'Too busy.' } : { job: `j-${word}`, word, file })
  }
  if (url.startsWith('/work/'))
    return json({
      state: url.endsWith('late') ? 'waiting' : 'done',
      url: `http://${headers.host}/${url.endsWith('moved') ? 'moved' : 'elsewhere'}`,
    })
  return json({ error: { message: 'There is nothing.' } }, 404)
}
