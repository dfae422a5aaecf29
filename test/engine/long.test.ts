// A long request is served like a short one, although little of it is parsed.

import { describe, expect, test } from 'vitest'
import { dialects, PAIRS } from './dialects.js'
import { ask, requestLines, setUp, setUpPair } from './fake-upstreams.js'
import { json, type Script, stream } from './upstream.js'

const { chat, messages } = dialects
/** Longer than a window of the scanner, with what is dear in it. */
const TEXT = 'Words, "quoted" \\ and é€🙂,\nand sluice. too; '.repeat(5000)
const longBody = (body: Record<string, unknown>): string => {
  const text = JSON.stringify(body)
  expect(text).toContain('"x"')
  return text.replace('"x"', () => JSON.stringify(TEXT))
}
const failing: Script = socket => json(socket, 500, { error: { message: 'no', type: 'server_error' } })
const OTHER = {
  models: { m: { targets: [0, 1].map(index => ({ upstream: `up${index}`, model: `other-${index}`, priority: index + 1 })) } },
}

describe.concurrent.each(PAIRS)('%s', (_name, pair) => {
  const { client, upstream } = pair
  const good: Script = socket => json(socket, 200, upstream.answer)

  test('a long body reaches a target and the next one completely', async () => {
    const { gateway, upstreams } = await setUpPair(pair, [failing, good], OTHER)
    const body = longBody(client.body(false))
    const response = await ask(gateway, { dialect: client, body })
    expect(response.status).toBe(200)
    for (const [index, { requests }] of upstreams.entries()) {
      expect(requests).toHaveLength(1)
      const sent = requests[0]?.body as string
      if (client === upstream) expect(sent).toBe(body.replace('"m"', `"other-${index}"`))
      else expect(sent).toContain(JSON.stringify(TEXT).slice(1, -1))
    }
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 200, bytes_in: Buffer.byteLength(body), attempts: 2 })
  })

  test('a long body of a streamed request reaches the target completely', async () => {
    const { gateway, upstreams } = await setUpPair(pair, [stream(upstream.begin + upstream.text('Hi'), upstream.end)])
    const response = await ask(gateway, { dialect: client, stream: true, body: longBody(client.body(true)) })
    expect(await response.text()).toMatch(client.proof)
    const sent = upstreams[0]?.requests[0]?.body as string
    expect(JSON.stringify(JSON.parse(sent))).toContain(JSON.stringify(TEXT).slice(1, -1))
  })
})

describe.concurrent('a long body', () => {
  const good: Script = socket => json(socket, 200, chat.answer)
  const asked = async (
    body: string,
  ): Promise<{ status: number; error: { message?: string; param?: string } | undefined; sent: string[] }> => {
    const { gateway, upstreams } = await setUp([good, good], { models: { m: { targets: [{ upstream: 'up0', model: 'other' }] } } })
    const response = await ask(gateway, { body })
    const { error } = (await response.json()) as { error?: { message?: string; param?: string } }
    return { status: response.status, error, sent: upstreams[0]?.requests.map(request => request.body) as string[] }
  }
  const body = longBody(chat.body(false))

  test('may have its model at the end', async () => {
    const { model, ...rest } = chat.body(false)
    expect((await asked(longBody({ ...rest, model }))).sent).toEqual([longBody({ ...rest, model: 'other' })])
  })

  test('may have its model twice, also with escapes', async () => {
    const { sent } = await asked(body.replace('{', '{"model":"forbidden","mod\\u0065l":"third",'))
    expect(sent).toEqual([body.replace('{', '{"model":"other","mod\\u0065l":"other",').replace('"m"', '"other"')])
  })

  test.for<[string, string, RegExp]>([
    ['a wrong member', body.replace('{', '{"temperature":"hot",'), /temperature/],
    ['a wrong member at the end', `${body.slice(0, -1)},"n":"many"}`, /'n'/],
    ['a user that is not a text at the end', `${body.slice(0, -1)},"user":7}`, /user/],
    ['an unknown model', body.replace('"m"', `"${'m'.repeat(400)}"`), /^The model 'm{400}' does not exist/],
    ['a character too many', body.replace('{', '{,'), /not valid JSON/],
    ['no end', body.slice(0, -3), /not valid JSON/],
    ['a line break in a text', body.replace('\\n', '\n'), /not valid JSON/],
    ['an invalid escape', body.replace('\\n', '\\x'), /not valid JSON/],
    ['no object', `[${body}]`, /must be a JSON object/],
    ['an object in place of a text', `{"body":${body}}`, /model/],
  ])('with %s is refused like a short one', async ([, wrong, words]) => {
    const { status, error, sent } = await asked(wrong)
    expect(status).toBe(wrong.includes('mmm') ? 404 : 400)
    expect(error?.message).toMatch(words)
    expect(error?.message).not.toMatch(/[\t\n]/)
    expect(sent).toEqual([])
  })

  test('may begin with a byte order mark and many blanks', async () => {
    expect((await asked(`\uFEFF${body.replace('{', `{${' '.repeat(70_000)}`)}`)).sent).toHaveLength(1)
  })

  test('loses what belongs to another provider only if a text begins with its mark', async () => {
    const thinking = { type: 'thinking', thinking: TEXT, signature: `sluice.other.${'s'.repeat(400)}` }
    const request = {
      model: 'm',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [thinking, { type: 'text', text: TEXT }] },
        { role: 'user', content: 'more' },
      ],
    }
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, messages.answer)], {}, 'anthropic')
    expect((await ask(gateway, { dialect: messages, body: longBody(request) })).status).toBe(200)
    const sent = JSON.parse(upstreams[0]?.requests[0]?.body as string) as typeof request
    expect(sent.messages[1]?.content).toEqual([{ type: 'text', text: TEXT }])
    expect(sent.messages[0]?.content).toBe(TEXT)
  })
})
