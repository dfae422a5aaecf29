// `rest: pass`: a mapping between similar dialects copies the rest of a request.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { startUpstream, type Upstream } from './upstream.js'

const OWN = {
  'schemas/near/format.yaml': 'title: Near\nlike: completions\n',
  'mappings/library/near.yaml': `functions: { near_prompt: 'function($prompt) { "> " & $prompt }' }
fields: { rest: pass, refused: { echo: the provider repeats nothing } }
`,
  'mappings/completions-to-near/mapping.yaml': `title: Completions on near
uses: [near]
request: '$merge([$, { "model": $ctx.model, "prompt": $near_prompt(prompt) }])'
response: '$'
`,
  'providers/near.yaml': 'title: Near\ncredential: { header: x-key }\nspeaks: { near: /near }\n',
}

let upstream: Upstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream(socket => {
    const body =
      '{"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"x","finish_reason":"stop","logprobs":null}]}'
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  })
  gateway = await startGateway(
    {
      upstreams: { one: { provider: 'near', base: upstream.url, secret: 's' } },
      models: { m: { targets: [{ upstream: 'one', model: 'r' }] } },
    },
    OWN,
  )
})

afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

const ask = (body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: 'm', prompt: 'Hi', ...body }),
  })

test('with `rest: pass` fields without a rule and unknown members pass, and are not reported', async () => {
  const answer = await ask({ seed: 5, best_of: 1, logit_bias: { 1: 2 }, quite_new: { a: [1] } })
  expect([answer.status, answer.headers.get('x-sluice-dropped')]).toEqual([200, null])
  expect(await answer.json()).toMatchObject({ choices: [{ text: 'x' }] })
  expect(JSON.parse(upstream.requests.at(-1)?.body as string)).toEqual({
    model: 'r',
    prompt: '> Hi',
    seed: 5,
    best_of: 1,
    logit_bias: { 1: 2 },
    quite_new: { a: [1] },
  })
})

test('with `rest: pass` a rule still applies to its fields', async () => {
  const answer = await ask({ echo: true })
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'echo' } }])
})
