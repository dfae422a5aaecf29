// Routes and dialects with `like`, in an overlay, at a real port.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { startUpstream, type Upstream } from './upstream.js'

const OWN = {
  'routes/own.yaml': `name: short
like: completions
path: /short
limits: { body: 200B }
---
name: terse
like: short
path: /terse
dialect: terse
---
name: models.chat
like: models.chat
answer: '{ "mine": $count($models) }'
`,
  // The schemas are those of the other dialect but for one.
  'schemas/terse/format.yaml': `title: Terse
like: completions
usage: '{ "input": usage.total_tokens }'
error: { like: messages }
stream: { keep_alive: ": still here\\n\\n" }
`,
  'schemas/terse/request.yaml': `type: object
required: [model, prompt, length]
properties: { model: { type: string }, prompt: { type: string }, length: { type: integer }, stream: { type: boolean } }
`,
  'providers/own.yaml': `title: Own
credential: { header: x-key }
speaks: { completions: /complete, terse: /terse }
`,
}

let upstream: Upstream
let gateway: TestGateway
const ANSWER =
  '{"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"x","finish_reason":"stop"}],"usage":{"prompt_tokens":2,"total_tokens":7}}'
const EVENTS =
  'data: {"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"x","finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

beforeAll(async () => {
  upstream = await startUpstream((socket, request) => {
    const [type, body] = /"stream": ?true/.test(request.body) ? ['text/event-stream', EVENTS] : ['application/json', ANSWER]
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  })
  gateway = await startGateway(
    { upstreams: { one: { provider: 'own', base: upstream.url, secret: 's' } }, models: { m: { targets: [{ upstream: 'one' }] } } },
    OWN,
  )
})

afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

function ask(path: string, request?: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method: request ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    ...(request && { body: JSON.stringify({ model: 'm', ...request }) }),
  })
}

const lastUsage = (): unknown => gateway.log.findLast(({ msg }) => msg === 'request')?.usage

describe('a route with `like`', () => {
  test('behaves like the other route, except for its own keys', async () => {
    expect(await (await ask('/short', { prompt: 'Hi' })).text()).toBe(ANSWER)
    expect((await ask('/short', { prompt: 'Hi'.repeat(200) })).status).toBe(413)
    expect((await ask('/v1/completions', { prompt: 'Hi'.repeat(200) })).status).toBe(200)
  })

  test('replaces the built-in route of its name', async () => {
    expect(await (await ask('/v1/models')).json()).toEqual({ mine: 1 })
  })
})

describe('a dialect with `like`', () => {
  test('uses its own keys, and those of the other dialect for the rest', async () => {
    const answer = await ask('/terse', { prompt: 'Hi', length: 3 })
    expect(await answer.text()).toBe(ANSWER)
    await expect.poll(lastUsage).toEqual({ input: 7 })
    expect(upstream.requests.at(-1)?.line).toContain('/terse')
    expect(await (await ask('/terse', { prompt: 'Hi', stream: true, length: 1 })).text()).toBe(EVENTS)
  })

  test('is checked by its own schema, and refuses in the form that it names', async () => {
    const answer = await ask('/terse', { prompt: 'Hi' })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  })
})
