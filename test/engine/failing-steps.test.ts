// Steps of a stream that fail at the end of an answer without content: a failure of the upstream, and of nothing else.

import { expect, test } from 'vitest'
import { startGateway } from '../harness.js'
import { closing } from './fake-upstreams.js'
import { chunk, type Script, startUpstream, streamHead } from './upstream.js'

const PARAMETERS = ['max_tokens', 'temperature', 'top_p', 'n', 'best_of', 'echo', 'suffix', 'logprobs', 'stop', 'frequency_penalty']
const DROPPED = [...PARAMETERS, 'presence_penalty', 'logit_bias', 'seed', 'stream_options', 'user']

const emitted = (text: string): string =>
  `{ "id": $ctx.id, "object": "text_completion", "created": $ctx.created, "model": $ctx.model,
          "choices": [{ "index": 0, "text": ${text}, "logprobs": null, "finish_reason": null }] }`

const OWN = {
  'schemas/short/format.yaml': `title: Short
response: json
stream:
  flag: body.stream
  framing: sse
  watch:
    finish: { marker: ['"done"'], when: $exists(done) }
    content: $boolean(text)
error:
  like: chat
  body: '{ "error": $message }'
  read: '{ "message": error }'
`,
  'schemas/short/request.yaml':
    'type: object\nrequired: [model, text]\nproperties: { model: { type: string }, text: { type: string }, stream: { type: boolean } }\n',
  'schemas/short/response.yaml': 'type: object\nrequired: [text]\nproperties: { text: { type: string } }\n',
  'schemas/short/event.yaml': 'type: object\nproperties: { text: { type: string }, done: { type: string } }\n',
  'providers/short.yaml': 'title: Short\ncredential: { header: x-key }\nspeaks: { short: /say }\n',
  'mappings/completions-to-short/mapping.yaml': `title: Completions on short
request: '{ "model": $ctx.model, "text": prompt, "stream": $ctx.stream }'
response: |
  ${emitted('text').replace('null }]', '"stop" }]')}
stream:
  steps:
    - name: a piece
      when: $exists(text)
      emit: |
        ${emitted('text')}
    - name: the end, which this provider tells as a number
      when: $exists(done)
      emit: |
        ${emitted('$string($number(done))')}
fields:
  dropped:
${DROPPED.map(name => `    ${name}: it has no such thing\n`).join('')}`,
}

const DONE = 'data: {"done":"soon"}\n\n'

test.for<[string, Script]>([
  ['ends', socket => socket.write(streamHead + chunk(DONE) + chunk(''))],
  ['falls silent', socket => socket.write(streamHead + chunk(DONE))],
])('an answer without content that %s', async ([, script]) => {
  const upstream = closing(await startUpstream(script))
  const upstreams = { one: { provider: 'short', base: upstream.url, secret: 'some-secret' } }
  const gateway = closing(await startGateway({ upstreams, models: { m: { targets: [{ upstream: 'one' }] } } }, OWN))
  const answer = await gateway.post('/v1/completions', { model: 'm', prompt: 'x', stream: true })
  expect(answer.status).toBe(502)
  expect(await answer.json()).toMatchObject({ error: { message: 'The upstream sent an event that could not be translated.' } })
})
