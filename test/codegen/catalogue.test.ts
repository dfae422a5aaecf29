// Facts about models: how several entries are merged, and which contradictions are reported.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as CatalogueModule from '../../engine/snapshot/catalogue.js'
import { type Fixture, fixture, root } from './fixture.js'

const { factsFor, entriesFor } = (await import(
  pathToFileURL(join(root, 'dist/engine/snapshot/catalogue.js')).href
)) as typeof CatalogueModule

const HEAD = 'source: a page\nread: 2026-11-22\n'
const MINE = 'title: Mine\nbase: http://example.com\ncredential: { header: x-key }\nspeaks: { chat: /chat }\n'

function small(): Fixture {
  const data = fixture('small')
  data.write('providers/mine.yaml', MINE)
  data.write('providers/many.yaml', MINE)
  return data
}

describe('the facts of one name from several entries', () => {
  test('an exact name precedes a pattern, and a long pattern a short one, for each fact', async () => {
    const data = small()
    data.write(
      'models/mine.yaml',
      `${HEAD}models:
  a-*: { context: 1, max_output: 1, traits: { sampling: fixed, stops: 0 } }
  a-b*: { max_output: 2, traits: { stops: 4 } }
  a-bc: { display_name: The one, context: 3 }
`,
    )
    const { catalogue } = await data.plan()
    expect(factsFor(catalogue, 'mine', 'a-bc')).toMatchObject({
      displayName: 'The one',
      context: 3,
      maxOutput: 2,
      traits: { sampling: 'fixed', stops: 4 },
    })
    expect(factsFor(catalogue, 'mine', 'a-x')).toMatchObject({ context: 1, maxOutput: 1, traits: { sampling: 'fixed', stops: 0 } })
    expect(factsFor(catalogue, 'mine', 'b')).toEqual({})
  })

  test('a file precedes the files of folders, and the operator precedes both', async () => {
    const data = small()
    data.write('models/imported/mine.yaml', `${HEAD}models: { a: { context: 1, max_output: 1, owner: imported } }\n`)
    data.write('models/mine.yaml', `${HEAD}models: { 'a*': { max_output: 2, display_name: by hand } }\n`)
    const own = fixture('empty')
    own.write('models/own.yaml', `${HEAD}models: { '*': { display_name: own } }\n`)
    const { catalogue } = await data.plan(own)
    expect(factsFor(catalogue, 'mine', 'a')).toMatchObject({ context: 1, maxOutput: 2, displayName: 'own', owner: 'imported' })
  })

  test("an operator's entry may replace a built-in one", async () => {
    const data = small()
    data.write('models/mine.yaml', `${HEAD}models: { a: { context: 1, max_output: 1 } }\n`)
    const own = fixture('empty')
    own.write('models/own.yaml', `${HEAD}models: { a: { replaces: true, context: 2 } }\n`)
    const facts = factsFor((await data.plan(own)).catalogue, 'mine', 'a')
    expect(facts.context).toBe(2)
    expect(facts).not.toHaveProperty('maxOutput')
  })

  test('another provider of a model has its facts, but neither its prices nor its dates', async () => {
    const data = small()
    data.write(
      'models/mine.yaml',
      `${HEAD}providers: [mine]\nmodels: { a: { context: 1, retired: 2027-01-01, prices: [{ from: 2026-01-01, input: 1 }] } }\n`,
    )
    data.write('models/many.yaml', `${HEAD}providers: [many]\nmodels: { maker/a: { max_output: 2 } }\n`)
    const { catalogue } = await data.plan()
    expect(factsFor(catalogue, 'mine', 'a')).toMatchObject({ context: 1, retired: '2027-01-01', prices: [{ input: 1 }] })
    const away = factsFor(catalogue, 'many', 'maker/a')
    expect(away).toMatchObject({ context: 1, maxOutput: 2 })
    expect(away).not.toHaveProperty('prices')
    expect(away).not.toHaveProperty('retired')
    expect(entriesFor(catalogue ?? [], 'many', 'maker/a').map(({ entry, isAway }) => [entry.at.replace(data.folder, ''), isAway])).toEqual([
      ['/models/mine.yaml:4', true],
      ['/models/many.yaml:4', false],
    ])
    // Where a name has slashes at home, what is behind them is not the name.
    expect(factsFor(catalogue, 'mine', 'maker/a')).not.toHaveProperty('prices')
  })

  test('`like` copies all facts but the name and the dates', async () => {
    const data = small()
    data.write(
      'models/mine.yaml',
      `${HEAD}models:
  a: { display_name: A, created: 2026-01-01, context: 1, traits: { thinking: budget, stops: 1 } }
  b*: { like: a, traits: { thinking: adaptive } }
`,
    )
    const facts = factsFor((await data.plan()).catalogue, 'mine', 'b1')
    expect(facts).toMatchObject({ context: 1, traits: { thinking: 'adaptive', stops: 1 } })
    expect(facts).not.toHaveProperty('displayName')
    expect(facts).not.toHaveProperty('created')
  })
})

describe('the check of models/', () => {
  const FAULTS: [name: string, text: string, rule: string, detail: string][] = [
    ['an unknown key', 'models: { a: { ◆contex: 1 } }', 'grammar/unknown-key', 'models.a: "contex" is not a key here'],
    ['an unknown trait', 'models: { a: { traits: { ◆hair: long } } }', 'grammar/unknown-key', 'models.a.traits: "hair" is not a key here'],
    [
      'an unknown value of a trait',
      'models: { a: { traits: { sampling: ◆some } } }',
      'grammar/value',
      'models.a.traits.sampling: "some" is not known here',
    ],
    ['an invalid day', 'models: { a: { created: ◆yesterday } }', 'grammar/value', 'models.a.created: "yesterday" is not valid here'],
    ['an unknown provider', 'providers: [◆nobody]\nmodels: {}', 'names/provider', 'there is no provider nobody'],
    ['an unknown dialect', 'models: { a: { prefer: [{ speaks: ◆latin }] } }', 'names/dialect', 'there is no dialect latin'],
    [
      'a page about an unknown model',
      "confirmed: [{ source: a page, facts: [prices], models: [a, ◆b] }]\nmodels: { a: {}, 'b*': {} }",
      'names/model',
      'no entry is named b',
    ],
    ['`like` an unknown entry', 'models: { a: { like: ◆b } }', 'names/model', 'no entry is named b'],
    [
      '`like` in a circle',
      'models: { a: { context: 1 }, b: { like: ◆c }, c: { like: ◆b } }',
      'models/like',
      'the `like` of b leads back to itself',
    ],
    [
      'days in the wrong order',
      'models: { a: { created: 2026-02-01, retired: ◆2026-01-01 } }',
      'models/dates',
      'retired is before created',
    ],
    [
      'a name with two entries',
      'models: { a: { context: 1 }, b: { match: [◆a] } }',
      'models/shadow',
      'a has the pattern a, too (models/mine.yaml:3)',
    ],
    [
      'two patterns for one name, neither of which is more specific',
      "models: { a-*: { context: 1 }, '◆*-b': { context: 2 }, a-x-b: {} }",
      'models/shadow',
      '*-b and a-* (models/mine.yaml:3) both match a-x-b, and neither is more specific',
    ],
    ['an unknown meter', 'models: { a: { prices: [{ from: 2026-01-01, ◆inputs: 1 }] } }', 'names/meter', 'there is no meter inputs'],
    [
      'an unknown meter in an exception',
      'models: { a: { prices: [{ from: 2026-01-01, input: 1, when: [{ tier: x, ◆outputs: 1 }] }] } }',
      'names/meter',
      'there is no meter outputs',
    ],
    [
      'prices in the wrong order',
      'models: { a: { prices: [{ from: 2026-02-01, input: 1 }, { from: ◆2026-01-01, input: 1 }] } }',
      'models/prices',
      'this price is from a day before the one above it',
    ],
    [
      'an exception without a condition',
      'models: { a: { prices: [{ from: 2026-01-01, input: 1, when: [◆{ times: 2 }] }] } }',
      'models/prices',
      'the exception has no condition',
    ],
    [
      'a price that is too fine',
      'models: { a: { prices: [{ from: 2026-01-01, input: ◆0.0000001 }] } }',
      'models/prices',
      'the price is finer than a pico-unit of the currency for one unit of the meter',
    ],
  ]
  test.each(FAULTS)('finds %s', (_name, text, rule, detail) => {
    const data = small()
    data.write('models/mine.yaml', `${HEAD}${text}\n`)
    const found = data.findings().map(one => ({ ...one, detail: one.detail.replaceAll(`${data.folder}/`, '') }))
    expect(found.map(({ position }) => position)).toEqual(data.marks)
    expect(found[0]).toMatchObject({ rule, detail })
  })

  test('accepts two patterns for one name that agree', () => {
    const data = small()
    data.write('models/mine.yaml', `${HEAD}models: { a-*: { context: 1 }, '*-b': { context: 1, max_output: 2 }, a-x-b: {} }\n`)
    expect(data.findings()).toEqual([])
  })
})
