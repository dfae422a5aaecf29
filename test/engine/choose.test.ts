// The order of targets: priorities, shares within one, ejected targets, and the permissions of callers.

import { beforeEach, describe, expect, test } from 'vitest'
import { now } from '../../engine/core/deadlines.js'
import type { GatewayError } from '../../engine/core/errors.js'
import type { Exchange } from '../../engine/core/exchange.js'
import type { GatewayConfig } from '../../engine/snapshot/config.js'
import type { Key, Model, Route, Snapshot } from '../../engine/snapshot/model.js'
import { createSnapshot } from '../../engine/snapshot/snapshot.js'
import { choose } from '../../engine/stages/choose.js'
import type { Input } from '../../engine/stages/read.js'
import { plan } from './plan.js'

type Targets = Record<string, { weight?: number; priority?: number }>

function worldOf(targets: Targets, model: object = {}, provider = 'openai'): Snapshot {
  const models = { m: { targets: Object.entries(targets).map(([upstream, more]) => ({ upstream, ...more })), ...model } }
  // What is not said here is as the grammar of gateway.yaml says.
  expect(plan.validateGateway({ models }), JSON.stringify(plan.validateGateway.errors)).toBe(true)
  return createSnapshot(plan, {
    keys: [],
    upstreams: Object.fromEntries(Object.keys(targets).map(name => [name, { provider, base: 'http://127.0.0.1:9' }])),
    models: models as unknown as GatewayConfig['models'],
    maxOutput: 1000,
    currency: 'USD',
  })
}

const route = plan.routes.find(({ name }) => name === 'chat') as Route
const capped = plan.routes.find(({ name }) => name === 'messages') as Route
const input = (model = 'm', body = {}): Input => ({
  bytes: Buffer.alloc(0),
  body,
  outline: body,
  probeBytes: Buffer.alloc(0),
  model,
  stream: false,
})

function order(snapshot: Snapshot, key?: Key, one = input(), on = route): string[] {
  const call = { log: { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 } } as unknown as Exchange
  return choose(on, one, key, call, snapshot).bindings.map(binding => binding.target.upstream)
}

function eject(snapshot: Snapshot, upstream: string, milliseconds: number): void {
  for (const target of (snapshot.models.get('m') as Model).targets)
    if (target.upstream === upstream) target.health.ejectedUntil = now() + milliseconds
}

function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('it was allowed')
}

/** How often each order comes in many draws. */
function shares(snapshot: Snapshot, draws = 40_000): Map<string, number> {
  const found = new Map<string, number>()
  for (let count = 0; count < draws; count++) {
    const names = order(snapshot).join(' ')
    found.set(names, (found.get(names) ?? 0) + 1 / draws)
  }
  return found
}

describe('the order of targets', () => {
  test('begins with the lowest priority number, whatever the order in the file', () => {
    const snapshot = worldOf({ c: { priority: 3 }, a: { priority: 1 }, b: { priority: 2, weight: 100 } })
    for (let count = 0; count < 100; count++) expect(order(snapshot)).toEqual(['a', 'b', 'c'])
  })

  // Ten standard deviations of so many draws: it will not fail by chance.
  test.each<[string, Targets, Record<string, number>]>([
    ['equal weights', { a: {}, b: {} }, { 'a b': 0.5, 'b a': 0.5 }],
    ['three to one', { a: { weight: 3 }, b: { weight: 1 } }, { 'a b': 0.75, 'b a': 0.25 }],
    ['weights below one', { a: { weight: 0.3 }, b: { weight: 0.1 } }, { 'a b': 0.75, 'b a': 0.25 }],
    [
      'the second target',
      { a: { weight: 5 }, b: { weight: 3 }, c: { weight: 2 } },
      { 'a b c': 0.3, 'a c b': 0.2, 'b a c': (0.3 * 5) / 7, 'b c a': (0.3 * 2) / 7, 'c a b': (0.2 * 5) / 8, 'c b a': (0.2 * 3) / 8 },
    ],
    ['targets of the same priority', { a: {}, b: {}, z: { priority: 2 } }, { 'a b z': 0.5, 'b a z': 0.5 }],
    ['a weight of 0', { a: { weight: 0 }, b: {} }, { b: 1 }],
  ])('is drawn by weight: %s', (_name, targets, expected) => {
    const found = shares(worldOf(targets))
    expect([...found.keys()].sort()).toEqual(Object.keys(expected).sort())
    for (const [names, share] of Object.entries(expected)) expect(Math.abs((found.get(names) ?? 0) - share)).toBeLessThan(0.025)
  })

  test('has no target if the only one has weight 0', () => {
    expect(order(worldOf({ a: { weight: 0 } }))).toEqual([])
  })
})

describe('an ejected target', () => {
  let snapshot: Snapshot
  beforeEach(() => {
    snapshot = worldOf({ a: { priority: 1 }, b: { priority: 2 }, c: { priority: 3 } })
  })

  test('comes last', () => {
    eject(snapshot, 'a', 10_000)
    expect(order(snapshot)).toEqual(['b', 'c', 'a'])
  })

  test('comes back when its time is over', () => {
    eject(snapshot, 'a', -1)
    expect(order(snapshot)).toEqual(['a', 'b', 'c'])
  })

  test('is tried in its order if all are ejected', () => {
    for (const name of ['a', 'b', 'c']) eject(snapshot, name, 10_000)
    expect(order(snapshot)).toEqual(['a', 'b', 'c'])
  })

  test('is tried if it is the only one', () => {
    const lone = worldOf({ a: {} })
    eject(lone, 'a', 10_000)
    expect(order(lone)).toEqual(['a'])
  })

  test('gets no share of its priority', () => {
    const pair = worldOf({ a: { weight: 99 }, b: {} })
    eject(pair, 'a', 10_000)
    expect([...shares(pair, 500).keys()]).toEqual(['b a'])
  })
})

describe('permissions', () => {
  const key = (more: Partial<Key>): Key => ({ name: 'k', sha256: '', groups: ['default'], enabled: true, matches: () => true, ...more })
  test.each<[string, object, Partial<Key>, boolean]>([
    ['the default group', {}, {}, true],
    ['one group in common', { groups: ['x', 'y'] }, { groups: ['y', 'z'] }, true],
    ['no group in common', { groups: ['x'] }, { groups: ['y'] }, false],
    ['a key without groups', {}, { groups: [] }, false],
    ['a model without groups', { groups: [] }, {}, false],
    ['a model that the key does not name', {}, { matches: name => name === 'other' }, false],
  ])('are checked for %s', (_name, model, more, isAllowed) => {
    const snapshot = worldOf({ a: {} }, model)
    if (isAllowed) expect(order(snapshot, key(more))).toEqual(['a'])
    else expect(refusal(() => order(snapshot, key(more)))).toMatchObject({ kind: 'permission', more: { param: 'model' } })
  })

  test.each<[string[], string, boolean]>([
    [['m'], 'm', true],
    [['*'], 'm', true],
    [['m*'], 'm', true],
    [['*m'], 'm', true],
    [['x*'], 'm', false],
    [['x', 'm'], 'm', true],
    [[], 'm', false],
    [['gpt-5.*'], 'gpt-5x1', false],
    [['gpt-5.*'], 'gpt-5.1', true],
    [['a*c*e'], 'abcde', true],
    [['a*c*e'], 'abcd', false],
    [['(a|b)+'], 'a', false],
    [['m'], 'mm', false],
  ])('patterns %j and the model %s: %s', (models, name, isAllowed) => {
    const snapshot = createSnapshot(plan, {
      keys: [{ name: 'k', sha256: 'x', groups: [], enabled: true, models }],
      upstreams: {},
      models: {},
      maxOutput: 1000,
      currency: 'USD',
    })
    expect(snapshot.keys.get('x')?.matches(name)).toBe(isAllowed)
  })

  test('an unknown model is not found, and the error names it', () => {
    expect(refusal(() => order(worldOf({ a: {} }), undefined, input('nope')))).toMatchObject({
      kind: 'not_found',
      message: expect.stringContaining("'nope'"),
      more: { param: 'model', code: 'model_not_found' },
    })
  })

  test.each(['constructor', '__proto__', 'toString'])('%s is not a model', name => {
    expect(refusal(() => order(worldOf({ a: {} }), undefined, input(name))).kind).toBe('not_found')
  })
})

describe('the output limit of a model', () => {
  const limited = { limits: { max_output: 100 } }
  test('allows a request with the declared limit', () => {
    expect(order(worldOf({ a: {} }, limited), undefined, input('m', { max_tokens: 100 }), capped)).toHaveLength(1)
  })

  const fields = plan.routes.flatMap(one => (one.asks?.output ?? []).map(path => [one.name, path.join('.'), path, one as Route] as const))
  const asking = (path: readonly string[], amount: number): Input =>
    input('m', path.reduceRight<object | number>((value, name) => ({ [name]: value }), amount) as object)

  test.each(fields)('refuses more on the route %s, and names the field %s and the limit', (_route, name, path, on) => {
    const provider = Object.entries(plan.providers).find(([, { speaks }]) => on.dialect in speaks)?.[0]
    const world = worldOf({ a: {} }, limited, provider)
    expect(order(world, undefined, asking(path, 100), on)).toHaveLength(1)
    expect(refusal(() => order(world, undefined, asking(path, 101), on))).toMatchObject({
      kind: 'invalid_request',
      message: `${name}: 101 > 100, which is the maximum allowed number of output tokens for m.`,
      more: { param: name, code: 'invalid_value' },
    })
  })

  test('has a field on each route of the text dialects', () => {
    expect([...new Set(fields.map(([name]) => name))].sort()).toEqual(
      expect.arrayContaining(['chat', 'completions', 'generate', 'messages', 'ollama.chat', 'ollama.generate', 'responses']),
    )
  })

  test('holds for each of several fields, not only for the first one', () => {
    const both = input('m', { max_completion_tokens: 50, max_tokens: 101 })
    expect(refusal(() => order(worldOf({ a: {} }, limited), undefined, both))).toMatchObject({ more: { param: 'max_tokens' } })
  })

  test('allows everything if there is no declared limit', () => {
    expect(order(worldOf({ a: {} }), undefined, input('m', { max_tokens: 1e9 }), capped)).toHaveLength(1)
  })
})
