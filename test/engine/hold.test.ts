// What an exchange holds of the budgets of its targets goes back, whenever the exchange ends.

import { expect, test } from 'vitest'
import type { MoneyAsked, MoneyGranted } from '../../engine/budgets/account.js'
import { type Budget, Budgets } from '../../engine/budgets/budgets.js'
import { Hold } from '../../engine/budgets/hold.js'
import type { LogEntry } from '../../engine/core/exchange.js'

const terms = {
  input: 10,
  most: 100,
  first: 100,
  isText: true,
  partial: 'seen',
  price: (input: number, output: number) => input + output,
} as const

function setUp(grant: (asked: MoneyAsked) => Promise<MoneyGranted>): { of: (scope: string) => Budget; close(): void } {
  const budgets = new Budgets(() => 0)
  budgets.treasury = { grant }
  const config = { limit: 1_000, every: 'day', zone: 'UTC', whenSpent: 'refuse' } as const
  return {
    of: scope => budgets.of({ scope, words: scope, isTold: true }, [config], 'USD')[0] as Budget,
    close: () => budgets.close(),
  }
}

const granted = ({ wanted, limit }: MoneyAsked): MoneyGranted => ({ granted: wanted, before: 0, left: limit - wanted, held: 0 })

test('what is entered after the exchange has ended', async () => {
  let answer: () => void = () => undefined
  let told: () => void = () => undefined
  const isAsked = new Promise<void>(resolve => (told = resolve))
  const { of, close } = setUp(async asked => {
    if (asked.account.startsWith('upstream:'))
      await new Promise<void>(resolve => {
        answer = resolve
        told()
      })
    return granted(asked)
  })
  const [key, upstream] = [of('key:k'), of('upstream:u')]
  const hold = new Hold([key], terms, 0, () => undefined)
  expect(await hold.begin()).toBeUndefined()
  const entering = hold.enter([upstream])
  await isAsked
  hold.settle(30)
  answer()
  expect(await entering).toBeUndefined()
  expect([key.at(0).reserved, key.at(0).settled]).toEqual([0, 30])
  expect([upstream.at(0).reserved, upstream.at(0).settled]).toEqual([0, 0])
  close()
})

test('what is too dear for a budget denies nothing to what is not', async () => {
  // Another process holds all of it, and returns it when it is asked to.
  const { of, close } = setUp(async asked =>
    asked.wanted <= asked.limit ? granted(asked) : { granted: 0, before: 0, left: 0, held: asked.limit },
  )
  const key = of('key:k')
  const priced = (price: number): Hold => new Hold([key], { ...terms, price: () => price }, 0, () => undefined)
  expect(await priced(1_200).begin()).toMatchObject({ denial: 'spent', missing: { needed: 1_200, left: 1_000 } })
  // It is not asked for again and again.
  expect(priced(1_200).begin()).toMatchObject({ denial: 'spent' })
  expect(await priced(10).begin()).toBeUndefined()
  close()
})

test('of the same budget as often as it was entered', async () => {
  const { of, close } = setUp(async asked => granted(asked))
  const [key, upstream] = [of('key:k'), of('upstream:u')]
  const hold = new Hold([key], terms, 0, () => undefined)
  await hold.begin()
  // Two targets of a hedge may be at one upstream.
  await hold.enter([upstream])
  await hold.enter([upstream])
  expect(upstream.at(0).reserved).toBe(220)
  hold.leave([upstream])
  expect(upstream.at(0).reserved).toBe(110)
  hold.settle(30)
  expect([upstream.at(0).reserved, upstream.at(0).settled]).toEqual([0, 30])
  close()
})

test('a form whose answer streams is charged for what was seen, since nothing was reserved for it', async () => {
  const { of, close } = setUp(async asked => granted(asked))
  const log: LogEntry = { status: 200, bytesIn: 0, bytesOut: 0, attempts: 1, isPartial: true }
  const hold = new Hold([of('key:k')], { ...terms, most: 0, first: 0, isText: false }, 0, () => undefined)
  await hold.begin()
  hold.note(Buffer.from(['Hello', ' there'].map(delta => `data: {"type":"transcript.text.delta","delta":"${delta}"}\n\n`).join('')))
  expect(hold.usage(log)?.output).toBeGreaterThanOrEqual(2)
  close()
})

test.for<[string, LogEntry['usage'], LogEntry['usage']]>([
  ['all of it', { input: 3, output: 4 }, { input: 3, output: 4 }],
  ['nothing', undefined, { input: 10, output: 100 }],
  ['no output', { input: 3, cached: 2 }, { input: 3, cached: 2, output: 100 }],
  ['no input', { output: 4 }, { input: 10, output: 4 }],
  ['neither', { cached: 2 }, { cached: 2, input: 10, output: 100 }],
])('a whole answer that reports %s is charged for what is missing, too', async ([, usage, charged]) => {
  const { of, close } = setUp(async asked => granted(asked))
  const log: LogEntry = { status: 200, bytesIn: 0, bytesOut: 0, attempts: 1, ...(usage && { usage }) }
  const hold = new Hold([of('key:k')], terms, 0, () => undefined)
  await hold.begin()
  expect(hold.usage(log)).toEqual(charged)
  // What has no text may have no output.
  const embeds = new Hold([of('key:k')], { ...terms, isText: false }, 0, () => undefined)
  await embeds.begin()
  expect(embeds.usage(log)).toEqual(usage ?? { input: 10, output: 100 })
  close()
})
