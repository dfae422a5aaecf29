// A stream is its answer in pieces: what a client assembles from the translated events equals the translated whole answer, and
// has the provider's content. Every stream that is written follows its dialect's grammar, whatever the provider sends.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Reducer } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { clientOf, providerOf, type Said, type Values } from './dialects/table.js'
import { CONTEXT, hasSchema, holds, plan, project, runs, same, schemaOf, TIMEOUT, wrong } from './plan.js'
import { cuts, reduce, sayable, turned, weaves, woven } from './streams.js'

const wild = arbitraries(project.schemas)
const tame = arbitraries(project.schemas, { strange: false })
const ctx = frozen(CONTEXT)

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to } = mapping
  const { response: map, stream } = mapping
  if (map === undefined) continue
  const [client, provider] = [clientOf(from), providerOf(to)]
  const asking = frozen(client?.asking ?? {})
  const carry = frozen(mapping.carry?.(asking, ctx))
  const mapped = (answer: Values): Values => wire(map(frozen(answer), ctx, carry)) as Values

  const valid = (part: 'response' | 'event', value: unknown): void => {
    const fault = wrong(from, part, value)
    if (fault !== undefined) expect.fail(`${fault}\nin ${JSON.stringify(value)}`)
  }

  describe(pair, () => {
    test('every valid answer becomes a valid answer', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(wild.of(schemaOf(to, 'response')), answer => {
          if (mapping.failure?.(frozen(answer), ctx, carry) === undefined) valid('response', mapped(answer as Values))
        }),
        runs(120),
      )
    })

    const events = (list: readonly unknown[]): Values[] => {
      const { events: made, failure } = reduce(stream as Reducer, list, ctx, carry)
      if (failure !== undefined) expect.fail(`the stream fails: ${JSON.stringify(failure)}`)
      for (const event of made) valid('event', event)
      return made
    }
    if (stream !== undefined && hasSchema(to, 'event'))
      test('every valid event becomes valid events', { timeout: TIMEOUT }, async () => {
        await holds(
          fc.property(fc.array(wild.of(schemaOf(to, 'event')), { maxLength: 8 }), list => {
            for (const event of reduce(stream, list, ctx, carry).events) valid('event', event)
          }),
          runs(120),
        )
      })
    if (client === undefined || provider === undefined) return
    const whole = tame
      .of(schemaOf(to, 'response'), { schema: provider.answer, base: schemaId(to, 'response') })
      .map(value => provider.settle(value as Values))
      // Sums of tokens that no number holds exactly.
      .filter(answer => Object.values(provider.said(answer).usage).every(Number.isSafeInteger))

    test("an answer keeps the provider's content", { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(whole, answer => {
          const fault = wrong(to, 'response', answer)
          if (fault !== undefined) throw new Error(`the table of ${to} settles what is not valid: ${fault}`)
          const whole = provider.said(answer)
          const [said, meant] = [client.said(mapped(answer)), whole].map(one => sayable(one, whole, client)) as [Said, Said]
          // The reason of a refusal may be in the text, or beside it.
          const text = meant.stop === 'refused' ? said.text.slice(0, meant.text.length) : said.text
          same(told({ ...said, text }, meant), told(meant, said), 'what the answer says')
        }),
        runs(120),
      )
    })

    if (stream === undefined) return
    const isNone = (answer: Values): boolean => mapping.failure?.(frozen(answer), ctx, carry) !== undefined
    test('the events of a stream add up to the whole answer', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(whole, cuts, (answer, cut) => {
          const given = provider.unfold(answer, cut)
          if (isNone(answer)) {
            if (reduce(stream, given, ctx, carry).failure === undefined) expect.fail('what is no answer as a whole is one in a stream')
            return
          }
          const made = events(given)
          same(client.faults(made), [], 'what is against the grammar')
          same(client.essence(client.fold(made)), client.essence(mapped(answer)), 'what the stream makes up')
        }),
        runs(120),
      )
    })

    const { sparse } = provider
    if (sparse !== undefined)
      test('what a provider says only at the end of a part, of an item or of the answer is not lost', { timeout: TIMEOUT }, async () => {
        await holds(
          fc.property(whole, cuts, fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }), fc.nat(4), (answer, cut, levels, most) => {
            if (isNone(answer)) return
            const made = events(sparse(provider.unfold(answer, cut), levels, most))
            same(client.faults(made), [], 'what is against the grammar')
            same(client.essence(client.fold(made)), client.essence(mapped(answer)), 'what the stream makes up')
          }),
          runs(120),
        )
      })

    // Of dialects that tell one block or item after the other, `faults` names what overlaps.
    test('parts that a provider interleaves reach the client one after the other, each complete', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(whole, cuts, weaves, fc.boolean(), (answer, cut, picks, isTurned) => {
          if (isNone(answer)) return
          const given = provider.unfold(answer, cut)
          const made = events(woven(isTurned ? turned(given, provider) : given, picks, provider))
          same(client.faults(made), [], 'what is against the grammar')
          const [said, meant] = [client.said(client.fold(made)), client.said(mapped(answer))]
          same(pick(said), pick(meant), 'what the stream says')
        }),
        runs(120),
      )
    })
  })
}

/** Calls in any order: some are sent when they are complete, whichever began first. */
const pick = ({ text, reasoning, calls }: Said): unknown => ({
  text,
  reasoning: reasoning.replaceAll(/\s+/g, ''),
  // A call may look cut off only where it comes last.
  calls: calls.map(({ mayBeCut: _, ...call }) => JSON.stringify(call)).sort(),
})

/** What both can say: proofs travel sealed, so there are as many; arguments are the same bytes where both have a text. */
function told(said: Said, other: Said): unknown {
  return {
    ...said,
    reasoning: said.reasoning.replaceAll(/\s+/g, ''),
    signatures: said.signatures.length,
    calls: said.calls.map((call, index) => {
      const its = other.calls[index]
      if (call.bytes !== undefined && its?.bytes !== undefined) return { name: call.name, bytes: call.bytes }
      return { name: call.name, arguments: call.arguments === null || its?.arguments === null ? 'nothing' : call.arguments }
    }),
  }
}
