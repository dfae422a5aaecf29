// Pairs that are made of two mappings: which ones exist, which errors are found, and what one mapping passes to the other.

import { describe, expect, test } from 'vitest'
import type { Body, Context, Mapping, State } from '../../engine/plan.js'
import { CONTEXT } from '../fixtures.js'
import { type Fixture, fixture, withDialects } from './fixture.js'

const FORMAT = 'title: One\nresponse: json\nstream:\n  flag: body.stream\n  framing: sse\n  sentinel: END\n  watch: {}\nerror: chat\n'
const REQUEST =
  'type: object\nrequired: [model]\nproperties:\n  model: { type: string }\n  text: { type: string }\n  mood: { type: string }\n'

/** Clients speak `tiny`, providers `typed`; both know `plain`. */
function woven(via: Readonly<Record<string, string>> = { tiny: 'plain' }): Fixture {
  const data = withDialects(fixture('small'))
  for (const [dialect, way] of Object.entries(via)) data.write(`schemas/${dialect}/format.yaml`, `${FORMAT}via: ${way}\n`)
  data.write('schemas/tiny/request.yaml', REQUEST.replace('mood:', 'tone:'))
  for (const dialect of ['plain', 'typed']) data.write(`schemas/${dialect}/request.yaml`, REQUEST)
  data.write(
    'mappings/tiny-to-plain/mapping.yaml',
    `title: First
carry: '{ "end": "!" }'
request: '{ "model": $ctx.model, "text": text, "mood": tone ? tone & "ly" }'
response: '{ "said": words & $carry.end }'
stream:
  state: { count: 0 }
  steps:
    - name: a word
      when: $exists(word)
      set: '{ "count": $state.count + 1 }'
      emit: '{ "said": word & $carry.end }'
    - name: the end
      on: [done]
      emit: '{ "count": $state.count }'
`,
  )
  data.write(
    'mappings/plain-to-typed/mapping.yaml',
    `title: Second
request: '{ "model": $ctx.model, "text": "<" & text & ">" }'
failure: '$exists(wrong) ? { "kind": "upstream", "message": wrong }'
response: '{ "words": $uppercase(out) }'
stream:
  steps:
    - name: all words
      when: $exists(list)
      emit: '[list.{ "word": $ }]'
    - name: a failure
      when: $exists(wrong)
      fail: '{ "kind": "upstream", "message": wrong }'
fields:
  dropped: { mood: it has none }
`,
  )
  return data
}

const ctx: Context = { ...CONTEXT, model: 'm' }

describe('a composed pair', () => {
  test('passes requests, answers, events, failures and `carry` from one mapping to the other', async () => {
    const { composed, mappings } = await woven().plan()
    expect(Object.keys(composed ?? {})).toEqual(['tiny-to-typed'])
    expect(mappings['tiny-to-typed']).toBeUndefined()
    const pair = composed?.['tiny-to-typed'] as Mapping
    expect(pair).toMatchObject({ from: 'tiny', to: 'typed', via: 'plain' })
    const body: Body = { model: 'x', text: 'hello', tone: 'kind' }
    const carry = pair.carry?.(body, ctx)
    const sent = pair.request?.(body, ctx, carry)
    expect(JSON.parse(JSON.stringify(sent))).toEqual({ model: 'm', text: '<hello>' })
    expect(pair.dropped?.(body, ctx, sent), 'by the name that the client knows').toEqual(['tone'])
    expect(pair.dropped?.({ model: 'x', text: 'hello' }, ctx, sent)).toEqual([])
    expect(pair.response?.({ out: 'hi' }, ctx, carry)).toEqual({ said: 'HI!' })
    expect(pair.response?.({ out: 'ho' }, ctx, carry), 'not what was made before').toEqual({ said: 'HO!' })
    expect(pair.failure?.({ wrong: 'hot' }, ctx, carry)).toEqual({ kind: 'upstream', message: 'hot' })
    const state = pair.stream?.start() as State
    const out: string[] = []
    expect(pair.stream?.event(state, { list: ['a', 'b'] }, ctx, carry, out)).toBeUndefined()
    expect(pair.stream?.event(state, { wrong: 'hot' }, ctx, carry, out)).toEqual({ kind: 'upstream', message: 'hot' })
    expect(pair.stream?.done(state, ctx, carry, out)).toBeUndefined()
    expect(out.filter((_, index) => index % 2 === 1).map(text => JSON.parse(text))).toEqual([{ said: 'a!' }, { said: 'b!' }, { count: 2 }])
  })

  test("exists if the upstream's dialect has `via` and the pair has no mapping", async () => {
    expect(Object.keys((await woven({ typed: 'plain' }).plan()).composed ?? {})).toEqual(['tiny-to-typed'])
    expect((await woven({}).plan()).composed).toBeUndefined()
    const direct = woven()
    direct.write('mappings/tiny-to-typed/mapping.yaml', 'title: Own\nrequest: \'{ "model": $ctx.model, "text": text, "mood": tone }\'\n')
    const plan = await direct.plan()
    expect(plan.composed).toBeUndefined()
    expect(plan.mappings['tiny-to-typed']).toBeDefined()
  })

  test('reports a lost field by its path, even if a variable reads it', async () => {
    const data = woven()
    data.edit('schemas/tiny/request.yaml', 'tone: { type: string }', 'tone: { type: object, properties: { now: { type: string } } }')
    data.edit('mappings/tiny-to-plain/mapping.yaml', `'{ "model": $ctx.model`, `'($mood := tone; { "model": $ctx.model`)
    data.edit('mappings/tiny-to-plain/mapping.yaml', `tone ? tone & "ly" }'`, `$mood.now })'`)
    const pair = (await data.plan()).composed?.['tiny-to-typed'] as Mapping
    const body: Body = { model: 'x', text: 'hello', tone: { now: 'kind' } }
    expect(pair.dropped?.(body, ctx, pair.request?.(body, ctx, pair.carry?.(body, ctx)))).toEqual(['tone.now'])
  })

  test('does not exist if the second mapping splits requests', async () => {
    const data = woven()
    data.edit('mappings/plain-to-typed/mapping.yaml', 'request:', "split: '[$]'\njoin: '$[0]'\nrequest:")
    expect((await data.plan()).composed).toBeUndefined()
  })

  test('refuses by name what the dialect between cannot express', async () => {
    const data = woven()
    data.edit('schemas/plain/request.yaml', 'mood: { type: string }', 'mood: { type: string, maxLength: 5 }')
    const pair = (await data.plan()).composed?.['tiny-to-typed'] as Mapping
    expect(() => pair.refused?.({ model: 'x', tone: 'very kind' }, { ...ctx })).toThrow(/'mood'/)
  })
})

describe('the check of `via`', () => {
  const finds = (data: Fixture): unknown[] => data.findings().map(({ position, rule, detail }) => [position, rule, detail])

  test('finds a dialect that has `via` itself, and a dialect that names itself', () => {
    const data = woven({ plain: 'chat', tiny: '◆plain' })
    data.write('mappings/plain-to-chat/mapping.yaml', 'title: On\nrequest: \'{ "model": $ctx.model, "messages": [text, mood] }\'\n')
    expect(finds(data)).toEqual([[data.marks[0], 'via/chain', 'plain has `via: chat` itself']])
    const other = woven({ tiny: '◆tiny' })
    expect(finds(other)).toEqual([[other.marks[0], 'via/chain', 'tiny has itself as `via`']])
  })

  test('finds an unknown dialect, and one that is mapped neither to it nor from it', () => {
    const data = woven({ tiny: '◆nowhere' })
    expect(finds(data)).toEqual([[data.marks[0], 'names/dialect', 'there is no dialect nowhere']])
    const other = woven({ tiny: '◆chat' })
    expect(finds(other)).toEqual([[other.marks[0], 'via/mapping', 'there is neither a mapping tiny-to-chat nor chat-to-tiny']])
  })
})
