// Counts of tokens that the gateway estimates: a word without an end is no reason to stand still, and a long text is counted in
// parts.

import { encode } from 'gpt-tokenizer'
import { afterAll, expect, test } from 'vitest'
import { startGateway } from '../harness.js'

const gateway = await startGateway({
  upstreams: { one: { provider: 'openai', secret: 'none' } },
  models: { m: { targets: [{ upstream: 'one' }] } },
})
afterAll(() => gateway.close())

async function tokensOf(content: string): Promise<number> {
  const answer = await gateway.post('/v1/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content }] })
  expect([answer.status, answer.headers.get('x-sluice-estimated')]).toEqual([200, 'true'])
  return ((await answer.json()) as { input_tokens: number }).input_tokens
}

const LENGTH = 1_000_000

// Whole, each of them takes the tokenizer hours.
test.each(['a', 'ab', 'é', '漢字', '😀', ' ', '\n', '!', '0'])('a text of nothing but %j', async word => {
  const tokens = await tokensOf(word.repeat(LENGTH / word.length))
  expect(tokens).toBeGreaterThan(LENGTH / 200)
  expect(tokens).toBeLessThan(LENGTH * 3)
})

test.each([100, 10_000, 1_000_000])('a text of %d words is counted to within two in a hundred', async count => {
  const words = 'The quick brown fox, jumps over 12 lazy dogs;\n\tfunction call(x) { return x["y"] } über München '.split(/(?<= )/)
  const text = Array.from({ length: count }, (_, index) => words[(index * 7) % words.length]).join('')
  const [tokens, exact] = [await tokensOf(text), encode(text).length + 4]
  expect(Math.abs(tokens / exact - 1)).toBeLessThan(0.02)
})
