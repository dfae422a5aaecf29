// A conversation that is too long for one target goes only to those with a larger known context.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../harness.js'
import { dialects } from './dialects.js'
import { closing, requestLines } from './fake-upstreams.js'
import { json, type Script, startUpstream } from './upstream.js'

/** How a provider of a dialect refuses what is too long: as its simulator says, in its own shape. */
const refusals: Record<string, (words: Record<string, unknown>) => unknown> = {
  chat: words => ({ error: { code: null, param: null, ...words } }),
  responses: words => ({ error: { code: null, param: null, ...words } }),
  messages: ({ type, message }) => ({ type: 'error', error: { type, message } }),
  generate: ({ type, message }) => ({ error: { code: 400, message, status: type } }),
  cohere_chat: ({ message }) => ({ id: 'e-1', message }),
}
const tooLong = (name: string): unknown => {
  const file = load(readFileSync(join(import.meta.dirname, `../../simulator/${name}.yaml`), 'utf8')) as {
    refusals: Record<string, Record<string, unknown>>
  }
  return refusals[name]?.(file.refusals.context_length as Record<string, unknown>)
}

/** One model with an upstream for each pair of script and context, in their order; gives who was asked, and the status. */
async function asked(
  name: keyof typeof dialects,
  targets: [Script, number | undefined][],
): Promise<{ asked: number[]; status: number; line: Record<string, unknown> | undefined }> {
  const dialect = dialects[name]
  const upstreams = await Promise.all(targets.map(async ([script]) => closing(await startUpstream(script))))
  const gateway = closing(
    await startGateway({
      upstreams: Object.fromEntries(
        upstreams.map(({ url }, index) => [`up${index}`, { provider: dialect.provider, base: url, secret: 'none' }]),
      ),
      models: {
        m: { targets: targets.map(([, context], index) => ({ upstream: `up${index}`, priority: index + 1, ...(context && { context }) })) },
      },
    }),
  )
  const response = await fetch(gateway.url + dialect.path(false), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...dialect.headers },
    body: JSON.stringify(dialect.body(false)),
  })
  await response.text()
  return { asked: upstreams.map(({ requests }) => requests.length), status: response.status, line: (await requestLines(gateway))[0] }
}

describe.concurrent.each(Object.keys(dialects) as (keyof typeof dialects)[])('%s', name => {
  const long: Script = socket => json(socket, 400, tooLong(name))
  const good: Script = socket => json(socket, 200, dialects[name].answer)

  test('a request that is too long goes to the next larger target', async () => {
    const targets: [Script, number | undefined][] = [
      [long, 8_000],
      [good, 8_000],
      [good, undefined],
      [long, 32_000],
      [good, 16_000],
      [good, 200_000],
    ]
    const { asked: counts, status, line } = await asked(name, targets)
    expect({ counts, status }).toEqual({ counts: [1, 0, 0, 1, 0, 1], status: 200 })
    expect(line).toMatchObject({ attempts: 3, target: 'up5/m', failed: [{ kind: 'invalid_request' }, { kind: 'invalid_request' }] })
  })

  test('a request that is too long goes to no other target if none is known to be larger', async () => {
    for (const contexts of [
      [8_000, undefined],
      [8_000, 4_000],
      [undefined, 200_000],
      [undefined, undefined],
    ]) {
      const { asked: counts, status } = await asked(name, [
        [long, contexts[0]],
        [good, contexts[1]],
      ])
      expect({ counts, status }).toEqual({ counts: [1, 0], status: 400 })
    }
  })

  test('a request that is refused for another reason goes to no other target', async () => {
    const wrong: Script = socket => json(socket, 400, refusals[name]?.({ type: 'invalid_request_error', message: 'This is wrong.' }))
    const { asked: counts, status } = await asked(name, [
      [wrong, 8_000],
      [good, 200_000],
    ])
    expect({ counts, status }).toEqual({ counts: [1, 0], status: 400 })
  })
})

test('a target that was too small is not ejected', async () => {
  const { upstreams, gateway } = await (async () => {
    const small = closing(await startUpstream(socket => json(socket, 400, tooLong('chat'))))
    const large = closing(await startUpstream(socket => json(socket, 200, dialects.chat.answer)))
    const one = closing(
      await startGateway({
        upstreams: {
          small: { provider: 'openai', base: small.url, secret: 'none' },
          large: { provider: 'openai', base: large.url, secret: 'none' },
        },
        models: {
          m: {
            targets: [
              { upstream: 'small', context: 10 },
              { upstream: 'large', context: 20, priority: 2 },
            ],
          },
        },
      }),
    )
    return { upstreams: [small, large], gateway: one }
  })()
  for (let count = 0; count < 3; count++) {
    const response = await fetch(gateway.url + dialects.chat.path(false), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...dialects.chat.headers },
      body: JSON.stringify(dialects.chat.body(false)),
    })
    expect(response.status).toBe(200)
    await response.text()
  }
  expect(upstreams.map(({ requests }) => requests.length)).toEqual([3, 3])
})

/** How a client of a dialect knows that its request was too long for the model. */
const SIGNS: Readonly<Record<string, object>> = {
  chat: { error: { code: 'context_length_exceeded' } },
  responses: { error: { code: 'context_length_exceeded' } },
  messages: { error: { message: expect.stringContaining('prompt is too long') } },
  generate: { error: { message: expect.stringContaining('exceeds the maximum number of tokens allowed') } },
}
/** A provider of a dialect. */
const providerOf = (name: string): string => (name === 'cohere_chat' ? 'cohere' : dialects[name as keyof typeof dialects].provider)

describe.each(Object.keys(SIGNS) as (keyof typeof dialects)[])('a client of %s', client => {
  test.each(Object.keys(refusals))('knows what is too long for a provider of %s', async provider => {
    const { url } = closing(await startUpstream(socket => json(socket, 400, tooLong(provider))))
    const gateway = closing(
      await startGateway({
        upstreams: { up: { provider: providerOf(provider), base: url, secret: 'none' } },
        models: { m: { targets: [{ upstream: 'up' }] } },
      }),
    )
    const { path, headers, body } = dialects[client]
    const response = await fetch(gateway.url + path(false), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body(false)),
    })
    expect([response.status, await response.json()]).toMatchObject([400, SIGNS[client]])
  })
})
