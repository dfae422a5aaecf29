// What holds for every client with every provider: one table, executed by each official client in its own way.

import { describe, expect, test } from 'vitest'
import { partsOf, textOf } from './conversation.js'
import {
  CALLS,
  FAILS_AT_ONCE,
  FAILS_LATER,
  FAILS_WHOLE,
  fits,
  PARAMETERS,
  RICH,
  SIGNATURE,
  TEXT,
  TEXTS,
  THOUGHT,
  tokensOf,
} from './facts.js'
import { failureOf, KEYS, lanesFor, modelOf, PDF, PNG, type Served, type Stage } from './gateway.js'
import type { Answer, Ask, Client, Kind, Speaker } from './sdks/sdk.js'

const weather = { name: 'get_weather', description: 'The weather of a place', parameters: PARAMETERS }
const clock = { name: 'get_time', description: 'The time of a place', parameters: PARAMETERS }

/** Whether the answer is asked for as a whole or as a stream. */
type Mode = 'whole' | 'folded'
const MODES: Mode[] = ['whole', 'folded']

const STATUSES: [status: number, kind: Kind][] = [
  [400, 'invalid_request'],
  // About the gateway's key, which is no concern of the client's.
  [401, 'upstream'],
  [403, 'upstream'],
  [404, 'not_found'],
  [409, 'conflict'],
  [413, 'too_large'],
  [422, 'invalid_request'],
  [500, 'upstream'],
  [503, 'overloaded'],
  [529, 'overloaded'],
]

/** What a provider signed is sealed by the gateway; neither the seal nor another's signature may reach a provider. */
const SEAL = /sluice\.|c2x1aWNl/

export function table<Item, Event>(speaker: Speaker<Item, Event>, stageOf: () => Stage): void {
  const lanes = lanesFor(speaker.dialect)
  let connected: Client<Item, Event> | undefined
  const client = (): Client<Item, Event> => {
    connected ??= speaker.connect(stageOf().url, KEYS.good)
    return connected
  }
  const hello = speaker.user('Hello')

  test('every dialect of providers is a lane', () => {
    expect(new Set(lanes.map(lane => lane.speaks))).toEqual(new Set(['chat', 'messages', 'generate', 'responses']))
  })

  test('a client that tries again gets the answer', async () => {
    const [lane] = lanes as [Served]
    stageOf().script(lane, [{ status: 429, error: { retry_after: 1 } }, { text: 'at last' }])
    const answer = await speaker.connect(stageOf().url, KEYS.good, 1).whole({ model: modelOf(lane, 'scene'), history: hello })
    expect(answer.text).toBe('at last')
  })

  describe.each(lanes)('$name', lane => {
    const ask = (name: string, more: Partial<Ask<Item>> = {}): Ask<Item> => ({ model: modelOf(lane, name), history: hello, ...more })
    const eventsOf = async (name: string, more: Partial<Ask<Item>> = {}): Promise<Event[]> => {
      const events: Event[] = []
      for await (const event of client().events(ask(name, more))) events.push(event)
      return events
    }
    const heard = () => stageOf().heard(lane)
    const told = (failure: unknown, kind: Kind): void => {
      expect(failure).toBeInstanceOf(speaker.kinds[kind].of)
      expect(failure).toMatchObject(speaker.kinds[kind].like)
    }
    /** In one dialect a provider's failure stays what it is, but for what is about the gateway's key. */
    const kept = (failure: unknown, kind: Kind, status: number): void => {
      const isKept = lane.isNative && status !== 401 && status !== 403
      if (!isKept) told(failure, kind)
      else {
        expect(failure).toBeInstanceOf(speaker.errors.told)
        expect(failure).toMatchObject({ status })
      }
    }

    test.each(TEXTS)('%s: the answer, the events and the folded stream are the same text', async (name, text) => {
      const answer = await client().whole(ask(name))
      if (text === undefined) expect(answer.text.length).toBeGreaterThan(100)
      else expect(answer.text).toBe(text)
      expect(answer).toMatchObject({ finish: speaker.finish.stop, calls: [], thought: '' })
      const events = await eventsOf(name)
      expect(events.map(speaker.textOf).join('')).toBe(answer.text)
      expect(events.filter(speaker.ends).length).toBeGreaterThan(0)
      expect(await client().folded(ask(name))).toMatchObject({ text: answer.text, finish: speaker.finish.stop })
    })

    test.each(['sim', 'sim-cached', 'sim-reasoning', 'sim-cached-reasoning'])('tokens of %s are counted once and all', async name => {
      const { written, ...tokens } = tokensOf(name, lane)
      for (const mode of MODES) {
        const { usage } = await client()[mode](ask(name))
        const { reasoning = tokens.reasoning, ...counted } = usage
        expect({ ...counted, reasoning }).toMatchObject(tokens)
        if (written !== undefined && usage.written !== undefined) expect(usage.written).toBe(written)
      }
    })

    test.each([
      ['sim', 'stop'],
      ['sim-length', 'length'],
      ['sim-filter', 'filter'],
      ['sim-tools', 'tool'],
    ] as const)('X15: %s ends for the same reason, streamed or not', async (name, reason) => {
      for (const mode of MODES) expect((await client()[mode](ask(name, { tools: [weather] }))).finish).toBe(speaker.finish[reason])
    })

    test.each(MODES)('a tool is called, gets its result and is answered: %s', async mode => {
      const tools = [weather, clock]
      const first = await client()[mode](ask('sim-tools', { tools }))
      expect(first.calls).toMatchObject([{ name: 'get_weather', args: CALLS[0] }])
      expect(heard().tools).toMatchObject([
        { name: 'get_weather', description: 'The weather of a place' },
        { name: 'get_time', description: 'The time of a place' },
      ])
      const results = first.calls.map(call => ({ call, text: 'sunny-7731' }))
      const history = [...hello, ...first.said, ...speaker.results(results)]
      const second = await client()[mode](ask('sim-tools', { tools, history }))
      expect(second.text).toContain('sunny-7731')
      expect(second.finish).toBe(speaker.finish.stop)
      expect(heard().turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
      const [asked] = partsOf(heard(), 'call')
      expect(asked).toMatchObject({ name: 'get_weather', input: CALLS[0] })
      expect(partsOf(heard(), 'result')).toMatchObject([{ id: asked?.id, text: 'sunny-7731', media: [] }])
      // And on: the whole conversation once more, with a turn more.
      await client()[mode](ask('sim', { tools, history: [...history, ...second.said, ...speaker.user('Thanks.')] }))
      expect(heard().turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
      expect(textOf(heard(), 'assistant').replaceAll('\n', '')).toContain(second.text)
    })

    test.each(['sim-parallel', 'sim-parallel-2ms'])(
      'X1, X3: two calls of %s keep their arguments and get their own results',
      async name => {
        for (const mode of MODES) {
          const { calls, said } = await client()[mode](ask(name, { tools: [weather] }))
          expect(calls.map(call => call.args)).toEqual(CALLS)
          expect(new Set(calls.map(call => call.id)).size).toBe(2)
          // The results come in another order than the calls.
          const results = calls.map((call, index) => ({ call, text: `result ${index}` })).reverse()
          await client().whole(ask(name, { tools: [weather], history: [...hello, ...said, ...speaker.results(results)] }))
          const given = new Map(partsOf(heard(), 'result').map(result => [result.id, result.text]))
          expect(partsOf(heard(), 'call').map(call => given.get(call.id))).toEqual(['result 0', 'result 1'])
        }
      },
    )

    test('a result that is a failure is told as one, or in words', async () => {
      const { calls, said } = await client().whole(ask('sim-tools', { tools: [weather] }))
      const results = speaker.results(calls.map(call => ({ call, text: 'no such place', failed: true })))
      const answer = await client().whole(ask('sim-tools', { tools: [weather], history: [...hello, ...said, ...results] }))
      expect(answer.text).toContain('no such place')
      const [result] = partsOf(heard(), 'result')
      expect(result?.text).toContain('no such place')
      const isSaid = speaker.dialect === 'messages' || speaker.dialect === 'generate'
      if (result?.failed !== undefined) expect(result.failed).toBe(isSaid)
    })

    test.each([
      ['auto', 1],
      ['any', 1],
      ['none', 0],
      [{ name: 'get_time' }, 1],
    ] as const)('the choice of a tool, %j, is kept', async (choice, count) => {
      const { calls } = await client().whole(ask('sim-tools', { tools: [weather, clock], choice }))
      expect(heard().choice).toEqual(choice)
      expect(calls.map(call => call.name)).toEqual(count === 0 ? [] : [typeof choice === 'string' ? 'get_weather' : choice.name])
    })

    test.skipIf(speaker.dialect === 'generate')('one call at a time where the provider can be held to it', async () => {
      const { calls } = await client().whole(ask('sim-parallel', { tools: [weather], isSerial: true }))
      expect(calls).toHaveLength(lane.speaks === 'generate' ? 2 : 1)
    })

    test('a name that the provider forbids is another one there, and its own again here', async () => {
      // The provider of one dialect wants a letter at the beginning.
      const more = { tools: [{ ...weather, name: '7_days-forecast' }, clock], choice: { name: '7_days-forecast' } }
      for (const mode of MODES) {
        const { calls, said } = await client()[mode](ask('sim-tools', more))
        expect(calls.map(call => call.name)).toEqual(['7_days-forecast'])
        const results = calls.map(call => ({ call, text: 'rain' }))
        await client().whole(ask('sim-tools', { ...more, history: [...hello, ...said, ...speaker.results(results)] }))
        const name = heard().tools[0]?.name
        expect(partsOf(heard(), 'call').map(call => call.name)).toEqual([name])
        if (lane.speaks === 'generate' && !lane.isNative) expect(name).toMatch(/^[A-Za-z_]/)
      }
    })

    test('arguments are what a rich schema accepts', async () => {
      const tools = [{ ...weather, parameters: RICH }]
      for (const mode of MODES) {
        const { calls } = await client()[mode](ask('sim-tools', { tools }))
        expect(fits(RICH, calls[0]?.args)).toBe(true)
      }
    })

    test('a tool without parameters is called with none', async () => {
      for (const mode of MODES)
        expect((await client()[mode](ask('sim-tools', { tools: [{ name: 'now' }] }))).calls).toMatchObject([{ name: 'now', args: {} }])
    })

    test('images and documents reach the provider', async () => {
      const page = `${stageOf().media}/image.png`
      const history = speaker.user('What are these?', { image: PNG }, { image: page }, { document: PDF })
      await client().whole(ask('sim', { history }))
      // Where only inline data is taken, the address is fetched for it.
      const isFetched = lane.speaks === 'generate' && !lane.isNative
      expect(partsOf(heard(), 'image').map(part => part.source)).toEqual([PNG, isFetched ? PNG : page])
      expect(partsOf(heard(), 'document').map(part => part.source)).toEqual([PDF])
      expect(textOf(heard(), 'user')).toContain('What are these?')
    })

    test.each(MODES)('structured output is what its schema accepts: %s', async mode => {
      const { text } = await client()[mode](ask('sim-json', { schema: RICH }))
      expect(fits(RICH, JSON.parse(text))).toBe(true)
      expect(heard().schema).toMatchObject({ type: 'object' })
    })

    test('instructions and the limit reach the provider', async () => {
      await client().whole(ask('sim', { system: 'Be brief.', limit: 77 }))
      expect(heard().system.join('\n')).toBe('Be brief.')
      expect(heard().limit).toBe(77)
    })

    test.skipIf(speaker.dialect === 'responses')('stop sequences hold where the provider knows of none, too', async () => {
      for (const mode of MODES) {
        const { text } = await client()[mode](ask('sim', { stops: ['depends', 'never'] }))
        if (lane.speaks === 'responses') expect(text).toBe(TEXT.slice(0, TEXT.indexOf('depends')))
        else expect(heard().stops).toEqual(['depends', 'never'])
      }
    })

    test('reasoning is told apart from the text, and can be turned off', async () => {
      for (const mode of MODES) {
        expect(await client()[mode](ask('sim-reasoning', { reasons: true }))).toMatchObject({ text: TEXT, thought: THOUGHT })
        expect(heard().reasons).toBe(true)
      }
      expect((await eventsOf('sim-reasoning', { reasons: true })).map(speaker.textOf).join('')).toBe(TEXT)
      // One kind of model cannot be kept from it.
      if (lane.prefix.includes('3.5')) return
      const { text, thought } = await client().whole(ask('sim-reasoning', { reasons: false }))
      expect(text).toBe(TEXT)
      expect(heard().reasons).toBe(false)
      // Not every chat provider has such a control: this one gets it if its levels are known.
      if (!(speaker.dialect === 'messages' && lane.speaks === 'chat')) expect(thought).toBe('')
    })

    describe.each([
      ['an answer', 'sim-reasoning'],
      ['calls', 'sim-reasoning-tools'],
    ])('X7, X11: the signature of %s', (_what, name) => {
      const more = { tools: [weather], reasons: true }
      const goingOn = ({ said, calls }: Answer<Item>): Item[] => [
        ...hello,
        ...said,
        ...(calls.length > 0 ? speaker.results(calls.map(call => ({ call, text: 'sunny' }))) : speaker.user('And?')),
      ]

      test.each(MODES)('goes back to its provider: %s', async mode => {
        const answer = await client()[mode](ask(name, more))
        await client().whole(ask('sim', { ...more, history: goingOn(answer) }))
        expect(heard().body).not.toMatch(SEAL)
        const signatures = partsOf(heard(), 'thinking').flatMap(part => part.signature ?? [])
        // One provider signs its texts, too, and does not ask for that back; other clients have no place for it in a stream.
        const isAsked = lane.isNative || lane.speaks !== 'generate' || name !== 'sim-reasoning'
        if (isAsked) expect(signatures).toEqual([SIGNATURE])
        else expect([[], [SIGNATURE]]).toContainEqual(signatures)
      })

      test.each(lanes.filter(other => other.provider !== lane.provider))(
        'is no concern of $name, where the conversation goes on',
        async other => {
          const first = await client().whole(ask(name, more))
          const history = goingOn(first)
          const second = await client().folded({ ...more, model: modelOf(other, 'sim-tools'), history })
          const there = stageOf().heard(other)
          expect(there.body).not.toMatch(SEAL)
          // What a provider of the client's very dialect sent is not sealed: where it came from is not known.
          if (!lane.isNative) expect(there.body).not.toContain(SIGNATURE)
          expect(partsOf(there, 'call')).toHaveLength(first.calls.length)
          expect(partsOf(there, 'result')).toHaveLength(first.calls.length)
          // And back again.
          await client().whole({ ...more, model: modelOf(lane, 'sim'), history: [...history, ...second.said, ...turnAfter(second)] })
          expect(heard().body).not.toMatch(SEAL)
          const ids = partsOf(heard(), 'result').map(result => result.id)
          expect(partsOf(heard(), 'call').map(call => call.id)).toEqual(ids)
          expect(ids).toHaveLength(first.calls.length + second.calls.length)
        },
      )

      const turnAfter = ({ calls }: Answer<Item>): Item[] =>
        calls.length > 0 ? speaker.results(calls.map(call => ({ call, text: 'rain' }))) : speaker.user('Thanks.')
    })

    test.each(STATUSES)('X18: status %i of the provider is told as %s', async (status, kind) => {
      for (const call of [() => client().whole(ask(`sim-status-${status}`)), () => eventsOf(`sim-status-${status}`)]) {
        const failure = await failureOf(call())
        kept(failure, kind, status)
        expect((failure as Error).message).not.toContain('secret-of')
      }
    })

    test('a busy provider says when to come again', async () => {
      for (const call of [() => client().whole(ask('sim-status-429-retry-7')), () => eventsOf('sim-status-429-retry-7')]) {
        const failure = await failureOf(call())
        told(failure, 'rate_limit')
        if (speaker.retryAfter) expect(speaker.retryAfter(failure)).toBe('7')
      }
    })

    test.each(FAILS_AT_ONCE)('%s is a status before the stream begins', async name => {
      told(await failureOf(eventsOf(name)), 'upstream')
    })

    test.each(FAILS_WHOLE)('%s without a stream is an error', async name => {
      const failure = await failureOf(client().whole(ask(name)))
      if (name === 'sim-fail-3') kept(failure, 'upstream', 500)
      else told(failure, 'upstream')
    })

    test.each(FAILS_LATER)('X8, X9: %s is never a complete answer', async name => {
      const seen: Event[] = []
      const read = async () => {
        for await (const event of client().events(ask(name, { tools: [weather] }))) seen.push(event)
      }
      const failure = await failureOf(read())
      // Told by the gateway, not guessed from a broken connection. Events of this very dialect pass unread, broken ones as well.
      if (!(lane.isNative && name.includes('malformed'))) {
        expect(failure).toBeInstanceOf(speaker.errors.told)
        if (speaker.errors.broken) expect(failure).not.toBeInstanceOf(speaker.errors.broken)
      }
      // One dialect tells a call whole, together with its end: nothing is left that could fail.
      if (!(lane.isNative && lane.speaks === 'generate' && name.includes('tools'))) expect(seen.filter(speaker.ends)).toEqual([])
      await failureOf(client().folded(ask(name, { tools: [weather] })))
    })

    test.each(['in the stream', 'before the stream', 'before the answer'])(
      'X23: giving up %s ends the call to the provider',
      async when => {
        const controller = new AbortController()
        const { signal } = controller
        const { simulator } = stageOf()
        const before = simulator.requests.length
        const read = async () => {
          if (when === 'before the answer') return await client().whole(ask('sim-slow-9000ms', { signal }))
          for await (const event of client().events(ask(when === 'in the stream' ? 'sim-1000-20ms' : 'sim-slow-9000ms', { signal })))
            if (speaker.textOf(event)) controller.abort()
          throw new Error('the client should have been told of its own abort')
        }
        const reading = failureOf(read())
        await expect.poll(() => simulator.requests.length, { interval: 5 }).toBe(before + 1)
        if (when !== 'in the stream') controller.abort()
        await expect.poll(() => simulator.requests.at(-1)?.aborted, { interval: 5 }).toBe(true)
        await reading
      },
    )
  })
}
