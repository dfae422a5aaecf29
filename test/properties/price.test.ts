// The price of tokens: each token once, in the most specific meter with a price, and no cost without a price.

import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { usageOf } from '../../cli/cost.js'
import { hasRare, METERS } from '../../engine/core/meters.js'
import { mergeUsage, rareOf } from '../../engine/core/usage.js'
import type { Prices, Usage } from '../../engine/plan.js'
import { costOf, explainCost } from '../../engine/snapshot/price.js'

const NOW = Date.parse('2026-11-22')
const usd = (more: object): Prices => ({ from: '2025-01-01', currency: 'USD', ...more })
const cost = (prices: Prices[], usage: Usage, time = NOW): number | undefined => costOf(prices, 'USD')?.(usage, time)

describe('a cost in nano-units', () => {
  const haiku = usd({ input: 1, output: 5, cached: 0.1, cache_write: 1.25 })
  test.each<[string, Prices[], Usage, number | undefined]>([
    ['input and output', [haiku], { input: 1_000, output: 100 }, 1_500_000],
    ['cached tokens are not input as well', [haiku], { input: 1_000, cached: 800, output: 0 }, 200_000 + 80_000],
    ['cache writes are not input as well', [haiku], { input: 1_000, cached: 300, cacheWrite: 200 }, 500_000 + 30_000 + 250_000],
    [
      'a meter without a price costs what its parent costs',
      [usd({ input: 2, output: 8 })],
      { input: 10, cached: 10, output: 10, reasoning: 9 },
      100_000,
    ],
    ['reasoning with a price of its own', [usd({ input: 1, output: 2, reasoning: 4 })], { output: 10, reasoning: 4 }, 12_000 + 16_000],
    ['embeddings have input alone', [usd({ input: 0.02 })], { input: 1_000 }, 20_000],
    ['output without a price', [usd({ input: 1 })], { input: 1, output: 1 }, undefined],
    ['a price of 0 is a price', [usd({ input: 0, output: 0 })], { input: 5, output: 5 }, 0],
    ['another currency', [{ ...haiku, currency: 'CNY' }], { input: 1 }, undefined],
    ['a price that is not in force yet', [usd({ from: '2027-01-01', input: 1 })], { input: 1 }, undefined],
    ['a price per thousand', [usd({ input: { price: 0.001, per: 'thousand' } })], { input: 1_000 }, 1_000_000],
    [
      'a long request',
      [usd({ input: 1, output: 2, when: [{ input_above: 200_000, input: 2 }] })],
      { input: 200_001, output: 1 },
      400_004_000,
    ],
    [
      'a request that is not long',
      [usd({ input: 1, output: 2, when: [{ input_above: 200_000, input: 2 }] })],
      { input: 200_000 },
      200_000_000,
    ],
    ['a request of another tier', [usd({ input: 1, when: [{ tier: 'batch', times: 0.5 }] })], { input: 1_000 }, 1_000_000],
    ['a request of a tier', [usd({ input: 1, when: [{ tier: 'batch', times: 0.5 }] })], { input: 1_000, tier: 'batch' }, 500_000],
    [
      'an exception for a length and a tier precedes those for one of them',
      [
        usd({
          input: 1,
          when: [
            { input_above: 10, tier: 'flex', input: 3 },
            { input_above: 10, input: 2 },
            { tier: 'flex', times: 0.5 },
          ],
        }),
      ],
      { input: 1_000, tier: 'flex' },
      3_000_000,
    ],
    [
      'a meter that an exception does not name keeps its price',
      [usd({ input: 1, output: 2, when: [{ tier: 'flex', input: 0.5 }] })],
      { input: 1_000, output: 1_000, tier: 'flex' },
      2_500_000,
    ],
    ['a price for an hour of the day', [usd({ input: 1, when: [{ hours: ['sun 00:00-01:00'], times: 2 }] })], { input: 1_000 }, 2_000_000],
    [
      'a price for another hour of the day',
      [usd({ input: 1, when: [{ hours: ['sun 00:01-01:00', 'mon-sat 00:00-24:00'], times: 2 }] })],
      { input: 1_000 },
      1_000_000,
    ],
    ['a price for a region', [usd({ input: 1, when: [{ region: 'eu', times: 1.1 }] })], { input: 1_000, region: 'eu' }, 1_100_000],
    [
      'one-hour cache writes are cache writes',
      [usd({ input: 1, cache_write: 1.25, cache_write_1h: 2 })],
      { input: 1_000, cacheWrite: 500, cacheWrite1h: 200 },
      500_000 + 375_000 + 400_000,
    ],
    [
      'one-hour cache writes where cache writes have no price',
      [usd({ input: 1, cache_write_1h: 2 })],
      { input: 1_000, cacheWrite: 500, cacheWrite1h: 200 },
      800_000 + 400_000,
    ],
    [
      'audio and images',
      [usd({ input: 1, audio_input: 10, image_input: 5, output: 2, audio_output: 20 })],
      { input: 1_000, audioInput: 100, imageInput: 200, output: 100, audioOutput: 40 },
      700_000 + 1_000_000 + 1_000_000 + 120_000 + 800_000,
    ],
    [
      'image output where text output has no price',
      [usd({ input: 5, image_output: 40 })],
      { input: 10, output: 100, imageOutput: 100 },
      50_000 + 4_000_000,
    ],
    [
      'a price per image',
      [usd({ image: 0.04, when: [{ quality: 'high', size: '1024x1024', image: 0.167 }] })],
      { image: 2, quality: 'high', size: '1024x1024' },
      334_000_000,
    ],
    ['tokens without a price beside images with one', [usd({ image: 0.04 })], { image: 1, input: 10, output: 100 }, 40_000_000],
    [
      'images without a price beside image tokens with one',
      [usd({ input: 5, image_output: 40 })],
      { image: 1, input: 10, output: 100, imageOutput: 100 },
      50_000 + 4_000_000,
    ],
    ['seconds', [usd({ second: 0.0001 })], { second: 61.5 }, 6_150_000],
    ['a price per second where the usage has no seconds', [usd({ second: 0.0001 })], { input: 10, output: 2 }, undefined],
    ['characters', [usd({ character: 15 })], { character: 1_000 }, 15_000_000],
    [
      'searches beside tokens',
      [usd({ input: 1, search: { price: 10, per: 'thousand' } })],
      { input: 1_000, search: 2 },
      1_000_000 + 20_000_000,
    ],
    ['searches without a price', [usd({ input: 1 })], { input: 1_000, search: 2 }, undefined],
    ['no searches', [usd({ input: 1 })], { input: 1_000, search: 0 }, 1_000_000],
    ['a price for each request', [usd({ input: 1, request: 0.005 })], { input: 1_000 }, 1_000_000 + 5_000_000],
    ['no usage', [usd({ input: 1, output: 1 })], {}, undefined],
  ])('%s', (_name, prices, usage, expected) => expect(cost(prices, usage)).toBe(expected))

  test('the price of the day counts', () => {
    const prices = [usd({ input: 2 }), usd({ from: '2026-06-01', input: 1 })]
    expect(cost(prices, { input: 1_000 }, Date.parse('2026-05-31'))).toBe(2_000_000)
    expect(cost(prices, { input: 1_000 }, Date.parse('2026-06-01'))).toBe(1_000_000)
  })
})

const NAMES = Object.keys(METERS)
const usages = fc.record(Object.fromEntries(Object.values(METERS).map(({ member }) => [member, fc.nat(1_000_000)])), { requiredKeys: [] })

test('with one price for all meters each token is priced once', () => {
  const tokens = NAMES.filter(name => METERS[name]?.parent !== undefined)
  fc.assert(
    fc.property(usages, fc.subarray(tokens), fc.nat(100), (usage: Usage, priced, price) => {
      const prices = [usd({ input: price, output: price, ...Object.fromEntries(priced.map(name => [name, price])) })]
      const { search: _, page: __, toolCall: ___, ...counted } = usage
      const all = (usage.input ?? 0) + (usage.output ?? 0)
      expect(cost(prices, counted)).toBe(usage.input === undefined && usage.output === undefined ? undefined : all * price * 1_000)
    }),
  )
})

test('a cost is the sum of the costs of all units, each counted in one meter', () => {
  // A price that is its own power of a number tells how many units were priced in which meter.
  fc.assert(
    fc.property(usages, (usage: Usage) => {
      const small = Object.fromEntries(Object.entries(usage).map(([name, count]) => [name, (count as number) % 100]))
      const of = (name: string): number => {
        const prices = Object.fromEntries(NAMES.map(other => [other, other === name ? { price: 1, per: 'one' } : 0]))
        return (cost([usd(prices)], small) ?? 0) / 1e9
      }
      const units = (names: string[]): number => names.reduce((sum, name) => sum + of(name), 0)
      const inputs = NAMES.filter(name => name === 'input' || ['input', 'cache_write'].includes(METERS[name]?.parent ?? ''))
      const outputs = NAMES.filter(name => name === 'output' || METERS[name]?.parent === 'output')
      expect(units(inputs)).toBe(small.input ?? 0)
      expect(units(outputs)).toBe(small.output ?? 0)
      for (const name of ['image', 'second', 'character', 'search', 'page', 'tool_call'])
        expect(of(name)).toBe(small[METERS[name]?.member as string] ?? 0)
    }),
  )
})

const words = {
  tier: ['flex', 'batch'],
  region: ['us', 'eu'],
  quality: ['high'],
  size: ['big'],
  resolution: ['720p'],
  search_context: ['high'],
}
const priced = fc.record(Object.fromEntries(NAMES.map(name => [name, fc.integer({ min: 0, max: 1_000 })])), { requiredKeys: [] })
const exception = fc
  .record({
    meters: priced,
    above: fc.option(fc.nat(1_000), { nil: undefined }),
    times: fc.constantFrom(undefined, 0.5, 1.5),
    facts: fc.record(Object.fromEntries(Object.entries(words).map(([name, values]) => [name, fc.constantFrom(...values)])), {
      requiredKeys: [],
    }),
  })
  .map(({ meters, above, times, facts }) => ({ ...meters, ...facts, ...(above && { input_above: above }), ...(times && { times }) }))
const regions = fc.constantFrom(undefined, { us: 1.1 }, { us: 1.1, eu: 0.9 })
const prices = fc
  .tuple(priced, fc.array(exception, { maxLength: 3 }), regions)
  .map(([meters, when, factors]) => usd({ ...meters, when, ...(factors && { regions: factors }) }))

/** What an answer of text may make of its tokens, at each end. */
const shapes = (input: number, output: number): Usage[] =>
  [{}, { cacheWrite: input }, { cacheWrite: input, cacheWrite1h: input }].flatMap(written =>
    [{}, { reasoning: output }].map(thought => ({ input, output, ...written, ...thought })),
  )

test('no answer of text costs more than the most, whatever its tier, its region and its cache writes', () => {
  const time = fc.constantFrom(NOW, Date.parse('2024-12-31'))
  const combinations = Object.entries(words).reduce<Record<string, string>[]>(
    (all, [name, values]) => all.flatMap(said => [said, ...values.map(value => ({ ...said, [name]: value }))]),
    [{}],
  )
  fc.assert(
    fc.property(prices, fc.nat(5_000), fc.nat(5_000), time, fc.constantFrom(undefined, 'us'), (price, input, output, at, region) => {
      const charged = costOf([price], 'USD', { region })
      if (shapes(input, output).some(usage => charged?.(usage, at) === undefined)) return
      const costs = shapes(input, output).flatMap(usage => combinations.map(said => charged?.({ ...usage, ...said }, at) as number))
      expect(charged?.most(input, output, at)).toBeGreaterThanOrEqual(Math.max(...costs) - 1)
    }),
    { numRuns: 300 },
  )
  const most = (prices: Prices[], input: number): number | undefined => costOf(prices, 'USD')?.most(input, 10, NOW)
  const written = usd({ input: 1, output: 2, cache_write: 1.25, cache_write_1h: 2, audio_output: 80 })
  expect(most([written], 1_000)).toBe(2_020_000)
  const tiers = [
    { tier: 'flex', times: 0.5 },
    { input_above: 1_000, tier: 'priority', times: 3 },
    { tier: 'priority', times: 2 },
  ]
  expect(most([usd({ input: 1, output: 2, when: tiers })], 1_000)).toBe(2_040_000)
  expect(most([usd({ input: 1, output: 2, when: tiers })], 2_000)).toBe(6_060_000)
})

describe('the ledger row of an exchange', () => {
  const facts = fc.record(
    Object.fromEntries(Object.entries(words).map(([name, values]) => [name, fc.constantFrom(...values, 'another')])),
    { requiredKeys: [] },
  )
  const raws = fc.tuple(fc.record(Object.fromEntries(NAMES.map(name => [name, fc.nat(2_000)])), { requiredKeys: [] }), facts)

  test('explains the cost as a sum of terms, for all meters, tiers, regions and qualities', () => {
    fc.assert(
      fc.property(raws, prices, fc.constantFrom(1, 0.85), fc.constantFrom(undefined, 'us', 'elsewhere'), (raw, price, times, region) => {
        const usage = mergeUsage(undefined, { ...raw[0], ...raw[1], ...(raw[0].second && { second: raw[0].second / 2 }) })
        if (usage === undefined) return
        const charged = costOf([price], 'USD', { times, region })
        const paid = charged?.(usage, NOW)
        const { input = null, output = null, cached = null, cacheWrite: cache_write = null, reasoning = null } = usage
        const told = charged?.kind?.facts(usage)
        const row = {
          ...{ input, output, cached, cache_write, reasoning },
          ...(hasRare(usage) && rareOf(usage)),
          region: charged?.kind?.region(usage) ?? null,
          facts: told === undefined ? null : JSON.parse(told),
        }
        const kept = usageOf(row as never)
        const explained = kept && explainCost([price], 'USD', { times }, kept, NOW)
        expect(explained?.cost).toBe(paid)
        if (paid === undefined || explained === undefined) return
        const sum = explained.terms.reduce((all, { units, rate }) => all + units * (rate as number), 0)
        expect(Math.round(Math.round(sum / 1_000) * explained.region)).toBe(paid)
      }),
      { numRuns: 1_000 },
    )
  })

  test('keeps no words that no price names, as there may be any number of them', () => {
    const kind = costOf([usd({ input: 1, when: [{ tier: 'flex', times: 0.5 }], regions: { us: 1.1 } })], 'USD')?.kind
    expect(kind?.facts({ tier: 'invented', quality: 'high' })).toBeUndefined()
    expect(kind?.facts({ tier: 'flex', quality: 'high' })).toBe('{"tier":"flex"}')
    expect(kind?.region({ region: 'invented' })).toBeUndefined()
    expect(costOf([usd({ input: 1 })], 'USD')?.kind).toBeUndefined()
  })
})

test('the engine counts the meters that the data may price', () => {
  const { properties } = load(readFileSync('schemas/config/meters.yaml', 'utf8')) as {
    properties: Record<string, { per: number; parent?: string }>
  }
  const said = Object.entries(properties).map(([name, { per, parent }]) => [name, { per, parent }])
  expect(Object.fromEntries(Object.entries(METERS).map(([name, { per, parent }]) => [name, { per, parent }]))).toEqual(
    Object.fromEntries(said),
  )
})
