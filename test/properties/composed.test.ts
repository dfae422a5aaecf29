// Pairs that are made of two mappings: the properties of a mapping hold for them, and none exists where a pair has its own
// mapping. Only a sample, since both mappings are tested by themselves.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context, Dialect, Mapping, Reducer } from '../../engine/plan.js'
import type * as ComposeModule from '../../engine/snapshot/compose.js'
import { frozen, wire } from '../fixtures.js'
import { conversation, travels } from './conversations.js'
import { clientOf, PAIRS, providerOf, type Values } from './dialects/table.js'
import { CONTEXT, holds, plan, project, runs, same, schemaOf, seen, TIMEOUT, wrong } from './plan.js'
import { cuts, reduce } from './streams.js'

const tame = arbitraries(project.schemas, { strange: false })
const { compose } = (await import(
  pathToFileURL(join(import.meta.dirname, '../../dist/engine/snapshot/compose.js')).href
)) as typeof ComposeModule

/** By way of chat although they have mappings of their own: both sides have more words than chat. */
const KNOWN = ['messages-to-generate', 'responses-to-generate'].map((pair): [string, Mapping] => {
  const [from, to] = pair.split('-to-') as [string, string]
  const dialect = (name: string): Dialect => plan.dialects[name] as Dialect
  const half = (name: string): Mapping => plan.mappings[name] as Mapping
  const way = { from, via: 'chat', to, members: {} }
  return [`${pair} by way of chat`, compose(half(`${from}-to-chat`), dialect('chat'), half(`chat-to-${to}`), dialect(to), way)]
})
const composed = [...Object.entries(plan.composed ?? {}), ...KNOWN]
const PAGE = { media_type: 'image/png', data: 'iVBORw0KGgo=' }

test('composed pairs exist, and none of them has a mapping of its own', () => {
  expect(Object.keys(plan.composed ?? {}).length).toBeGreaterThan(5)
  for (const [pair, { from, to, via }] of Object.entries(plan.composed ?? {})) {
    expect(plan.mappings[pair]).toBeUndefined()
    expect([from, to].map(dialect => project.formats.get(dialect)?.data.via)).toContain(via)
  }
})

/** What the engine would have fetched for both halves. */
function fetchedFor(mapping: Mapping, body: Body, ctx: Context): Context {
  const fetched: Record<string, typeof PAGE> = {}
  let known = ctx
  for (const fetch of [mapping.fetch, mapping.fetchMore]) {
    for (const address of [fetch?.(body, known) ?? []].flat(3) as string[]) fetched[address] = PAGE
    // A copy is another context, as between two stages.
    known = { ...ctx, fetched: { ...fetched } }
  }
  return known
}

test('every client reaches every provider', () => {
  expect(PAIRS.filter(pair => (plan.mappings[pair] ?? plan.composed?.[pair]) === undefined)).toEqual([])
})

for (const [pair, mapping] of composed) {
  const { from, to } = mapping
  const [client, provider] = [clientOf(from), providerOf(to)]

  describe(pair, () => {
    test('a valid request becomes a valid request or is refused', { timeout: TIMEOUT }, async () => {
      let answered = 0
      await holds(
        fc.property(tame.of(schemaOf(from, 'request')), fc.boolean(), (value, stream) => {
          const body = frozen(seen(from, value))
          const whole: Context = { ...CONTEXT, stream }
          try {
            if (mapping.refused?.(body, whole)) return
          } catch (error) {
            // What lies between says less than the client's dialect: a request that it cannot say is refused by name.
            expect((error as { kind?: string }).kind).toBe('invalid_request')
            return
          }
          const parts = mapping.split?.(body, whole)
          for (const part of Array.isArray(parts) && parts.length > 1 ? (parts as Body[]) : [body]) {
            const ctx = frozen(fetchedFor(mapping, part, { ...whole }))
            const carry = frozen(mapping.carry?.(part, ctx))
            const made = wire(mapping.request?.(part, ctx, carry))
            const fault = wrong(to, 'request', made)
            if (fault !== undefined) expect.fail(`${fault}\nin ${JSON.stringify(made)}`)
            for (const path of mapping.dropped?.(part, ctx, made as Body) ?? []) expect(path).not.toBe('')
            answered++
          }
        }),
        runs(80),
      )
      expect(answered).toBeGreaterThan(0)
    })

    const ctx = frozen(CONTEXT)
    const asking = frozen((client?.asking ?? { model: 'm', prompt: 'x', messages: [{ role: 'user', content: 'x' }] }) as Body)
    const carry = frozen(mapping.carry?.(asking, ctx))
    // A stream is always requested with usage.
    const streamed = frozen({ ...CONTEXT, stream: true })

    test('valid answers and events become valid answers and events', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(tame.of(schemaOf(to, 'response')), fc.array(tame.of(schemaOf(to, 'event')), { maxLength: 5 }), (answer, events) => {
          const body = frozen(answer)
          if (mapping.failure?.(body, ctx, carry) === undefined) {
            const made = wire(mapping.response?.(body, ctx, carry))
            expect(wrong(from, 'response', made), JSON.stringify(made)).toBeUndefined()
          }
          for (const event of reduce(mapping.stream as Reducer, events, ctx, carry).events)
            expect(wrong(from, 'event', event), JSON.stringify(event)).toBeUndefined()
        }),
        runs(40),
      )
    })

    if (client && provider) {
      const back = plan.mappings[`${to}-to-${from}`] ?? plan.composed?.[`${to}-to-${from}`]
      test(`the provider gets the whole conversation${back === undefined ? '' : ', and the mapping back restores it'}`, {
        timeout: TIMEOUT,
      }, async () => {
        await holds(
          fc.property(conversation, given => travels(given, mapping, back)),
          runs(40),
        )
      })
    }

    if (client && provider)
      test('the events of a stream add up to the whole answer', { timeout: TIMEOUT }, async () => {
        const whole = tame
          .of(schemaOf(to, 'response'), { schema: provider.answer, base: schemaId(to, 'response') })
          .map(value => provider.settle(value as Values))
        await holds(
          fc.property(whole, cuts, (answer, cut) => {
            if (mapping.failure?.(frozen(answer), ctx, carry) !== undefined) return
            const { events, failure } = reduce(
              mapping.stream as Reducer,
              provider.unfold(answer, cut),
              streamed,
              mapping.carry?.(asking, streamed),
            )
            expect(failure).toBeUndefined()
            same(client.faults(events), [], 'what is against the grammar')
            // Between the halves an answer is a text and calls, in no order.
            const said = (one: Values): unknown => {
              const { text, reasoning, calls, usage } = client.said(one)
              return { text, reasoning: reasoning.replaceAll(/\s+/g, ''), calls: calls.map(call => JSON.stringify(call)).sort(), usage }
            }
            same(said(client.fold(events)), said(wire(mapping.response?.(frozen(answer), ctx, carry)) as Values), 'the stream')
          }),
          runs(40),
        )
      })
  })
}
