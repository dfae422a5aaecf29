// Settings of routes: their own errors, the query that mappings see, forms that are checked while they arrive, and the model
// of a socket.

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { KEY, startGateway, type TestGateway } from '../harness.js'

const OWN = {
  'routes/own.yaml': `name: problem
like: chat
path: /problem
error: { type: application/problem+json, body: '{ "title": $message, "status": $status, "kind": $kind }' }
---
name: asked
method: POST
path: /asked
auth: [bearer]
dialect: asked
forward_query: [tone, lang]
---
name: transcribe
like: audio.transcriptions
path: /transcribe
validate: fields
default_model: m
---
name: talk
like: realtime
path: /talk/{model}
model: path.model
---
name: hum
like: realtime
path: /hum
default_model: m
`,
  'schemas/asked/format.yaml': 'title: Asked\nresponse: json\nerror: chat\n',
  'schemas/asked/request.yaml': 'type: object\nrequired: [model, text]\nproperties: { model: { type: string }, text: { type: string } }\n',
  'schemas/asked/response.yaml': 'type: object\nproperties: { said: {}, lang: {}, query: {} }\n',
  'mappings/asked-to-chat/mapping.yaml': `title: Asked on chat
carry: '$query.lang'
request: '{ "model": $ctx.model, "messages": [{ "role": "system", "content": $query.tone }, { "role": "user", "content": text }] }'
response: '{ "said": choices[0].message.content, "lang": $carry, "query": $query }'
fields: { dropped: {}, refused: {} }
`,
  'providers/own.yaml': `title: Own
credential: { header: x-key }
speaks:
  chat: /chat
  transcription: /transcribe
  realtime: { method: GET, path: '/talk/{model}', subprotocol: own-protocol }
`,
}

interface Seen {
  url: string
  protocol: string | undefined
  body: string
  isWhole: boolean
}

const seen: Seen[] = []
const server = createServer((request, response) => {
  const one: Seen = { url: request.url as string, protocol: undefined, body: '', isWhole: false }
  seen.push(one)
  request.on('error', () => undefined)
  request.on('data', chunk => {
    one.body += String(chunk)
  })
  request.on('end', () => {
    one.isWhole = true
    response.setHeader('content-type', 'application/json')
    response.end(
      request.url === '/chat'
        ? '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}'
        : '{"text":"heard"}',
    )
  })
})
const sockets = new WebSocketServer({ server })
sockets.on('connection', (socket, request: IncomingMessage) => {
  seen.push({ url: request.url as string, protocol: request.headers['sec-websocket-protocol'], body: '', isWhole: true })
  socket.on('message', data => socket.send(`echo ${String(data)}`))
})
let gateway: TestGateway

beforeAll(async () => {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  gateway = await startGateway(
    { upstreams: { one: { provider: 'own', base, secret: 's' } }, models: { m: { targets: [{ upstream: 'one', model: 'real' }] } } },
    OWN,
  )
})

afterAll(async () => {
  await gateway?.close()
  sockets.close()
  server.closeAllConnections()
  await new Promise(done => server.close(done))
})

const authorization = `Bearer ${KEY}`

function ask(path: string, body: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  })
}

test('a route may have its own form of errors, with its content type', async () => {
  const answer = await ask('/problem', { model: 'nowhere', messages: [{ role: 'user', content: 'Hi' }] })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(await answer.json()).toEqual({ title: expect.stringContaining('nowhere'), status: answer.status, kind: 'not_found' })
  const other = await fetch(`${gateway.url}/problem`)
  expect([other.status, other.headers.get('content-type')]).toEqual([405, 'application/problem+json'])
  // The other routes are as they were.
  expect((await ask('/v1/chat/completions', {})).headers.get('content-type')).toBe('application/json')
})

test('a mapping sees the members of the query that the route names', async () => {
  const answer = await ask('/asked?tone=kind&lang=de&other=1', { model: 'm', text: 'Hi' })
  expect(await answer.json()).toEqual({ said: 'Hi', lang: 'de', query: { tone: 'kind', lang: 'de' } })
  expect(JSON.parse(seen.at(-1)?.body as string).messages[0]).toEqual({ role: 'system', content: 'kind' })
  expect(await (await ask('/asked', { model: 'm', text: 'Hi' })).json()).toEqual({ said: 'Hi', query: {} })
})

describe('a form', () => {
  const file = new Blob(['x'.repeat(100_000)], { type: 'audio/wav' })
  const post = (parts: [string, string | Blob][]): Promise<Response> => {
    const body = new FormData()
    for (const [name, value] of parts) body.append(name, value)
    return fetch(`${gateway.url}/transcribe`, { method: 'POST', headers: { authorization }, body })
  }

  test('that is valid passes, and one without a model gets the default model', async () => {
    for (const parts of [[['model', 'm']], []] as [string, string][][]) {
      const answer = await post([...parts, ['language', 'de'], ['file', file], ['timestamp_granularities[]', 'word']])
      expect(await answer.json()).toEqual({ text: 'heard' })
      expect(seen.at(-1)?.body).toMatch(/name="model"\r\n\r\nreal\r\n/)
      expect(seen.at(-1)?.body).toContain('x'.repeat(100_000))
    }
  })

  test('is refused before anything is sent if a text before the file is wrong', async () => {
    const before = seen.length
    const answer = await post([
      ['language', 'de'],
      ['language', 'fr'],
      ['model', 'm'],
      ['file', file],
    ])
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'language' } }])
    expect(seen.length).toBe(before)
  })

  test('is aborted if a text after the file is wrong, or if a part is missing', async () => {
    const wrong = await post([
      ['model', 'm'],
      ['file', file],
      ['prompt', 'a'],
      ['prompt', 'b'],
    ])
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { param: 'prompt' } }])
    expect(seen.at(-1)?.isWhole).toBe(false)
    const missing = await post([
      ['model', 'm'],
      ['language', 'de'],
    ])
    expect([missing.status, await missing.json()]).toMatchObject([400, { error: { param: 'file' } }])
  })
})

describe('a socket', () => {
  const talk = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${gateway.url.replace(/^http/, 'ws')}${path}`, { headers: { authorization } })
      socket.on('open', () => socket.send('Hi'))
      socket.on('message', data => {
        resolve(String(data))
        socket.close()
      })
      socket.on('error', reject)
    })

  test('finds its model in the path, and offers the provider its subprotocol', async () => {
    expect(await talk('/talk/m')).toBe('echo Hi')
    expect(seen.at(-1)).toMatchObject({ url: expect.stringMatching(/^\/talk\/real/), protocol: 'own-protocol' })
    await expect(talk('/talk/nowhere')).rejects.toThrow('404')
  })

  test('without a model gets the default model', async () => {
    expect(await talk('/hum')).toBe('echo Hi')
  })
})
