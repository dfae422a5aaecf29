// The values of headers that are passed on: their bytes arrive as they came, and one that nobody may send is the caller's fault.

import { describe, expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { dialects } from './dialects.js'
import { bytesOf, dial, statusesIn } from './fake-upstreams.js'
import { routed } from './routed.js'
import { answer, json, type Script } from './upstream.js'

const { messages } = dialects
const body = JSON.stringify(messages.body(false))
/** Bytes as characters of the same numbers, as the wire has them. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1')

const stage = (script: Script = socket => json(socket, 200, messages.answer)) =>
  routed(
    {
      a: { script, provider: 'anthropic' },
      b: { script: socket => json(socket, 200, answer), target: { priority: 2 } },
    },
    {},
    { relay: { r: { path: '/r/*', upstream: 'a' } } },
  )

const ask = async (gateway: { url: string }, path: string, headers: Record<string, string>): Promise<number | undefined> => {
  const wire = await dial(gateway)
  wire.write(bytesOf(path, { connection: 'close', 'content-type': 'application/json', 'x-api-key': KEY, ...headers }, body))
  await wire.closed
  return statusesIn(wire.text())[0]
}

const VALUES = ['Café', 'x日x', '日本 and 🎈', 'a\tb']

describe.concurrent.each([
  ['a route', '/v1/messages', 'anthropic-beta'],
  ['a relay', '/r/v1/messages', 'x-title'],
])('a value on %s', (_name, path, header) => {
  test.each(VALUES)('arrives as it came: %j', async value => {
    const { gateway, upstreams } = await stage()
    // The HTTP library trims bytes beyond ASCII at both ends.
    expect(await ask(gateway, path, { [header]: bytes(`<${value}>`) })).toBe(200)
    expect(upstreams.a?.requests[0]?.headers[header]).toBe(bytes(`<${value}>`))
  })

  test('with a control character is refused, and ejects nobody', async () => {
    const { gateway, counts } = await stage()
    for (let count = 0; count < 4; count++) expect(await ask(gateway, path, { [header]: 'a\u007fb' })).toBe(400)
    expect(counts()).toEqual({ a: 0, b: 0 })
    expect(await ask(gateway, path, {})).toBe(200)
    expect(counts()).toEqual({ a: 1, b: 0 })
  })
})
