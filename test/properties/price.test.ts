// What tokens cost: each once, in the innermost meter that has a price, and nothing where one has none.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Prices, Usage } from '../../engine/plan.js'
import { costOf } from '../../engine/snapshot/price.js'

const NOW = Date.parse('2026-11-22')
const usd = (more: object): Prices => ({ from: '2025-01-01', currency: 'USD', ...more })
const cost = (prices: Prices[], usage: Usage, time = NOW): number | undefined => costOf(prices, 'USD')?.(usage, time)

describe('in nano-units', () => {
  const haiku = usd({ input: 1, output: 5, cached: 0.1, cache_write: 1.25 })
  test.each<[string, Prices[], Usage, number | undefined]>([
    ['input and output', [haiku], { input: 1_000, output: 100 }, 1_500_000],
    ['cached tokens are not input as well', [haiku], { input: 1_000, cached: 800, output: 0 }, 200_000 + 80_000],
    ['neither are those that were written', [haiku], { input: 1_000, cached: 300, cacheWrite: 200 }, 500_000 + 30_000 + 250_000],
    [
      'a meter without a price costs what its parent costs',
      [usd({ input: 2, output: 8 })],
      { input: 10, cached: 10, output: 10, reasoning: 9 },
      100_000,
    ],
    ['reasoning with a price of its own', [usd({ input: 1, output: 2, reasoning: 4 })], { output: 10, reasoning: 4 }, 12_000 + 16_000],
    ['embeddings have input alone', [usd({ input: 0.02 })], { input: 1_000 }, 20_000],
    ['output without a price', [usd({ input: 1 })], { input: 1, output: 1 }, undefined],
    ['a price of 0 is one', [usd({ input: 0, output: 0 })], { input: 5, output: 5 }, 0],
    ['another currency', [{ ...haiku, currency: 'CNY' }], { input: 1 }, undefined],
    ['a price that is not in force yet', [usd({ from: '2027-01-01', input: 1 })], { input: 1 }, undefined],
    ['a price per thousand', [usd({ input: { price: 0.001, per: 'thousand' } })], { input: 1_000 }, 1_000_000],
    [
      'a long request',
      [usd({ input: 1, output: 2, when: [{ input_above: 200_000, input: 2 }] })],
      { input: 200_001, output: 1 },
      400_004_000,
    ],
    ['one that is not long', [usd({ input: 1, output: 2, when: [{ input_above: 200_000, input: 2 }] })], { input: 200_000 }, 200_000_000],
    ['an exception that is not told apart', [usd({ input: 1, when: [{ tier: 'batch', times: 0.5 }] })], { input: 1_000 }, 1_000_000],
  ])('%s', (_name, prices, usage, expected) => expect(cost(prices, usage)).toBe(expected))

  test('the price of the day counts', () => {
    const prices = [usd({ input: 2 }), usd({ from: '2026-06-01', input: 1 })]
    expect(cost(prices, { input: 1_000 }, Date.parse('2026-05-31'))).toBe(2_000_000)
    expect(cost(prices, { input: 1_000 }, Date.parse('2026-06-01'))).toBe(1_000_000)
  })
})

test('with one price for all meters, tokens cost what their sum costs', () => {
  const tokens = fc.nat(10_000_000)
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, tokens, fc.nat(100), (input, output, cached, cacheWrite, reasoning, price) => {
      const prices = [usd({ input: price, output: price, cached: price, cache_write: price, reasoning: price })]
      expect(cost(prices, { input, output, cached, cacheWrite, reasoning })).toBe((input + output) * price * 1_000)
    }),
  )
})
