// Agent frameworks with every provider: each runs its own loop of calls and results, and keeps its own history.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@openai/agents'
import { generateText, Output, streamText } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RecordedRequest, Scripts } from '../../cli/simulator/server.js'
import { startGateway, type TestGateway } from '../harness.js'
import { type Heard, partsOf, read, textOf } from './conversation.js'
import { CALLS, SIGNATURE, TEXT, THOUGHT, tokensOf } from './facts.js'
import { kits as agents, connect, DIALECTS, runner, toolOf } from './frameworks/agents.js'
import { kits as ai } from './frameworks/ai.js'
import { type Done, type Kit, MODES, type Mode, type Place, Report, type Tool, type Work } from './frameworks/framework.js'
import { failureOf, KEYS, lanesFor, modelOf, PNG, type Stage, startStage } from './gateway.js'

/** Providers of which the first fails. */
const PROVIDERS = ['openai', 'anthropic', 'gemini']
const FAILING = PROVIDERS.flatMap(first => PROVIDERS.filter(second => second !== first).map(second => [first, second] as const))
const failing = (kit: string, first: string, second: string): string => `${kit.replaceAll(/\W+/g, '-')}-${first}-${second}`

let stage: Stage
/** The same providers behind models of two targets, for a failure of the first one. Each kit has models of its own. */
let gateway: TestGateway
beforeAll(async () => {
  stage = await startStage()
  const upstreams = Object.fromEntries(PROVIDERS.map(provider => [provider, { provider, base: stage.simulator.url, secret: 's' }]))
  const models = Object.fromEntries(
    [...ai, ...agents].flatMap(kit =>
      FAILING.map(([first, second]) => {
        const name = failing(kit.name, first, second)
        return [
          name,
          {
            targets: [
              { upstream: first, model: name },
              { upstream: second, model: 'sim-tools', priority: 2 },
            ],
          },
        ]
      }),
    ),
  )
  gateway = await startGateway({ upstreams, models })
})
afterAll(async () => {
  await gateway?.close()
  await stage?.close()
})

const REPORT = { title: 'Fair', unit: null, days: [{ name: 'Monday', degrees: 21.5 }] }
/** What a provider signed is sealed by the gateway; neither the seal nor another's signature may reach a provider. */
const SEAL = /sluice\.|c2x1aWNl/

/** Tools that remember what they were called with. */
const toolbox = () => {
  const seen: [string, Place][] = []
  const tools = ['get_weather', 'get_time'].map(
    (name): Tool => ({
      name,
      description: `Tells: ${name}`,
      run(input) {
        seen.push([name, input])
        return `${name} of ${input.city}`
      },
    }),
  )
  return { seen, tools }
}

/** That so many calls were made, and each had its own result. */
const expectAnswered = (count: number, turns: Heard) => {
  const results = partsOf(turns, 'result')
  const calls = partsOf(turns, 'call')
  expect([calls.length, results.length]).toEqual([count, count])
  for (const [at, { id, name, input }] of calls.entries()) {
    // One kit gives no ids to some models: there the order tells.
    const result = id === undefined ? results[at] : results.find(one => one.id === id)
    expect(result?.text).toContain(`${name} of ${(input as Place).city}`)
  }
}

function table<Item>(kit: Kit<Item>): void {
  const lanes = lanesFor(kit.dialect)
  let connected: ReturnType<Kit<Item>['connect']> | undefined
  const hello = [kit.user('Hello')]

  describe.each(lanes)('before $name', lane => {
    const work = (mode: Mode, name: string, more: Partial<Work<Item>> = {}, heard?: (piece: string) => void): Promise<Done<Item>> => {
      connected ??= kit.connect(stage.url, KEYS.good)
      return connected(mode, { model: modelOf(lane, name), history: hello, ...more }, heard)
    }
    const heard = (back?: number) => stage.heard(lane, back)
    const script = (scripts: Scripts) => stage.script(lane, scripts)

    test.each(MODES)('one call after the other, and the answer: %s', async mode => {
      const { seen, tools } = toolbox()
      script([
        { text: 'First the weather.', tools: [{ name: 'get_weather', arguments: CALLS[0] }] },
        { tools: [{ name: 'get_time', arguments: CALLS[1] }] },
        { text: 'All is known.', usage: { input: 12, output: 3 } },
      ])
      const { text, history } = await work(mode, 'scene', { tools, system: 'Be brief.' })
      expect(text).toBe('All is known.')
      expect(seen).toEqual([
        ['get_weather', CALLS[0]],
        ['get_time', CALLS[1]],
      ])
      expect(heard().system.join('\n')).toBe('Be brief.')
      expect(heard().turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
      expect(textOf(heard(), 'assistant')).toContain('First the weather.')
      expect(partsOf(heard(), 'call')).toMatchObject([
        { name: 'get_weather', input: CALLS[0] },
        { name: 'get_time', input: CALLS[1] },
      ])
      expectAnswered(2, heard())
      // And on, without a call.
      expect((await work(mode, 'sim', { tools, history: [...history, kit.user('Thanks.')] })).text).toBe(TEXT)
      expect(heard().turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'])
      expect(textOf(heard(), 'assistant')).toContain('All is known.')
    })

    test.each(MODES)('X1, X3: calls beside one another get their own results: %s', async mode => {
      const { seen, tools } = toolbox()
      const weather = { name: 'get_weather', arguments: CALLS[0] }
      script([{ tools: [weather, { ...weather, arguments: CALLS[1] }, { ...weather, name: 'get_time' }], pace: 0 }, { text: 'Three.' }])
      expect((await work(mode, 'scene', { tools })).text).toBe('Three.')
      // Calls whose pieces are mixed may be complete in another order.
      expect(seen).toHaveLength(3)
      expect(seen).toEqual(
        expect.arrayContaining([
          ['get_weather', CALLS[0]],
          ['get_weather', CALLS[1]],
          ['get_time', CALLS[0]],
        ]),
      )
      expect(heard().turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
      expectAnswered(3, heard())
    })

    test('a tool that fails is told to the model', async () => {
      const tools = [
        {
          name: 'get_weather',
          description: 'Fails',
          run: () => {
            throw new Error('no such place')
          },
        },
      ]
      for (const mode of MODES) {
        script([{ tools: [{ name: 'get_weather', arguments: CALLS[0] }] }, { text: 'It failed.' }])
        expect((await work(mode, 'scene', { tools })).text).toBe('It failed.')
        expect(partsOf(heard(), 'result')).toMatchObject([{ text: expect.stringContaining('no such place') }])
      }
    })

    test('a call of a tool that is not there is told to the model, or fails', async () => {
      const { tools } = toolbox()
      for (const mode of MODES) {
        script([{ tools: [{ name: 'get_lost', arguments: {} }] }, { text: 'Then without.' }])
        const done = await work(mode, 'scene', { tools }).catch((error: Error) => error)
        if (done instanceof Error) expect(done.message).toContain('get_lost')
        else {
          expect(done.text).toBe('Then without.')
          expect(partsOf(heard(), 'result')).toMatchObject([{ text: expect.stringContaining('get_lost') }])
        }
      }
    })

    test.each(MODES)('reasoning goes on from step to step: %s', async mode => {
      const { tools } = toolbox()
      script([
        { reasoning: THOUGHT, tools: [{ name: 'get_weather', arguments: CALLS[0] }] },
        { reasoning: 'Now the time.', tools: [{ name: 'get_time', arguments: CALLS[1] }] },
        { reasoning: 'That is all.', text: 'Done.' },
      ])
      const { text, thought, history } = await work(mode, 'scene', { tools, reasons: true })
      expect(text).toBe('Done.')
      if (kit.thinks) expect(thought).toBe(`${THOUGHT}Now the time.That is all.`)
      expect(heard(3).reasons).toBe(true)
      expect(heard().body).not.toMatch(SEAL)
      expectAnswered(2, heard())
      const signatures = () => partsOf(heard(), 'thinking').flatMap(part => part.signature ?? [])
      if (kit.keeps(lane, mode)) expect(signatures()).toEqual([SIGNATURE, SIGNATURE])
      await work(mode, 'sim', { tools, reasons: true, history: [...history, kit.user('And?')] })
      expect(heard().body).not.toMatch(SEAL)
      expectAnswered(2, heard())
    })

    test('the pieces of a stream are the text, and come one by one', async () => {
      const pieces: string[] = []
      script([{ text: TEXT, chunks: 7, pace: 1 }])
      const { text } = await work('streamed', 'scene', {}, piece => pieces.push(piece))
      expect(text).toBe(TEXT)
      expect(pieces.join('')).toBe(TEXT)
      expect(pieces.length).toBeGreaterThan(5)
    })

    test.each(MODES)('an answer of a given shape: %s', async mode => {
      script([{ text: JSON.stringify(REPORT) }])
      expect((await work(mode, 'scene', { schema: Report })).output).toEqual(REPORT)
      expect(heard().schema).toMatchObject({ type: 'object' })
      // Made by the schema alone.
      expect(Report.safeParse((await work(mode, 'sim-json', { schema: Report })).output).success).toBe(true)
    })

    test('a shape for the answer, after calls', async () => {
      const { seen, tools } = toolbox()
      for (const mode of MODES) {
        script([{ tools: [{ name: 'get_weather', arguments: CALLS[0] }] }, { text: JSON.stringify(REPORT) }])
        expect((await work(mode, 'scene', { schema: Report, tools })).output).toEqual(REPORT)
      }
      expect(seen).toHaveLength(2)
    })

    test('an image reaches the provider', async () => {
      await work('whole', 'sim', { history: [kit.user('What is this?', PNG)] })
      expect(partsOf(heard(), 'image')).toEqual([{ kind: 'image', source: PNG }])
    })

    test.each(['sim', 'sim-cached-reasoning'])('tokens of %s are counted once and all', async name => {
      const { input, output, cached } = tokensOf(name, lane)
      for (const mode of MODES) expect((await work(mode, name)).usage).toEqual({ input, output, cached })
    })

    test.each([
      [400, 400],
      [401, 502],
      [503, kit.dialect === 'messages' ? 529 : 503],
    ])('X18: status %i of the provider is %i to the kit, or what it was in its own dialect', async (status, other) => {
      const told = lane.isNative && status !== 401 ? status : other
      for (const mode of MODES) {
        const failure = await failureOf(work(mode, `sim-status-${status}`))
        expect(failure).toMatchObject(kit.failure(told))
        expect((failure as Error).message).toMatch(/\w+ \w+/)
        expect((failure as Error).message).not.toContain('secret-of')
      }
    })

    test('a busy provider is one that may be asked again', async () => {
      for (const mode of MODES) expect(await failureOf(work(mode, 'sim-status-429-retry-7'))).toMatchObject(kit.failure(429))
    })

    test.each([
      ...['sim-torn-4', 'sim-malformed-4', 'sim-noend', 'sim-fail-3-2ms', 'sim-cut-4-2ms'],
      ...['sim-tools-fail-3', 'sim-tools-noend', 'sim-reasoning-cut-3'],
    ])('X8, X9: %s is never a complete answer', async name => {
      const { tools } = toolbox()
      const failure = await failureOf(work('streamed', name, { tools }))
      // In the gateway's words, and not what a kit makes of a broken connection.
      expect((failure as Error).message).toMatch(/upstream|The simulator answers 500/)
    })

    test.runIf(kit.shows)('an image that a tool gives reaches the provider', async () => {
      const tools = [{ name: 'get_map', description: 'Shows', run: () => ({ text: 'the map of it', image: PNG }) }]
      for (const mode of MODES) {
        script([{ tools: [{ name: 'get_map', arguments: CALLS[0] }] }, { text: 'Seen.' }])
        expect((await work(mode, 'scene', { tools })).text).toBe('Seen.')
        const [result] = partsOf(heard(), 'result')
        expect(result?.text).toContain('the map of it')
        expect([...(result?.media ?? []), ...partsOf(heard(), 'image').map(image => image.source)]).toEqual([PNG])
      }
    })

    test('a conversation goes on at every other provider, and back', async () => {
      const { tools } = toolbox()
      const more = { tools, reasons: true }
      script([
        {
          reasoning: THOUGHT,
          text: 'Let me see.',
          tools: [
            { name: 'get_weather', arguments: CALLS[0] },
            { name: 'get_time', arguments: CALLS[1] },
          ],
        },
        { reasoning: THOUGHT, text: 'First answer.' },
      ])
      let { history } = await work('whole', 'scene', more)
      let calls = 2
      for (const [at, other] of lanes.filter(other => other.id !== lane.id).entries()) {
        const mode = at % 2 === 0 ? 'streamed' : 'whole'
        const next = await work(mode, 'sim', { ...more, model: modelOf(other, 'sim-tools'), history: [...history, kit.user('Again.')] })
        calls += 1
        expect(next.text).toContain('get_weather of')
        const there = stage.heard(other)
        expect(there.body).not.toMatch(SEAL)
        // Another model of the same provider may have it. What was not translated is not sealed.
        if (!lane.isNative && other.provider !== lane.provider) expect(there.body).not.toContain(SIGNATURE)
        expect(textOf(there, 'assistant')).toContain('Let me see.')
        expect(textOf(there, 'assistant')).toContain('First answer.')
        expectAnswered(calls, there)
        history = next.history
      }
      await work('whole', 'sim', { ...more, history: [...history, kit.user('Thanks.')] })
      expect(heard().body).not.toMatch(SEAL)
      expectAnswered(calls, heard())
    })
  })

  describe.each(FAILING)('where %s fails, %s goes on', (first, second) => {
    test('in the middle of the work', async () => {
      const { tools } = toolbox()
      const { simulator } = stage
      const model = failing(kit.name, first, second)
      const work = { model, tools, reasons: true, history: hello }
      simulator.scenario(model, [
        { reasoning: THOUGHT, text: 'Let me see.', tools: [{ name: 'get_weather', arguments: CALLS[0] }] },
        { status: 503, error: { retry_after: 60 } },
      ])
      const run = kit.connect(gateway.url, KEYS.good)
      const before = simulator.requests.length
      const { text, history } = await run('streamed', work)
      expect(text).toContain('get_weather of text')
      expect(simulator.requests.length).toBe(before + 3)
      const heard = () => read(simulator.requests.at(-1) as RecordedRequest)
      expect(heard().body).not.toMatch(SEAL)
      expect(textOf(heard(), 'assistant')).toContain('Let me see.')
      expectAnswered(1, heard())
      // The one that failed is left alone for a while.
      await run('whole', { ...work, history: [...history, kit.user('Again.')] })
      expect(simulator.requests.length).toBe(before + 5)
      expect(heard().body).not.toMatch(SEAL)
      expectAnswered(2, heard())
    })
  })
}

for (const kit of ai) describe(kit.name, () => table(kit))
for (const kit of agents) describe(kit.name, () => table(kit))

describe.each(DIALECTS)('agents, %s', dialect => {
  test.each(lanesFor(dialect))('one agent hands over to another before $name', async lane => {
    const { seen, tools } = toolbox()
    const modelOfKit = connect(dialect, stage.url, KEYS.good)(modelOf(lane, 'scene'))
    const clock = new Agent({ name: 'Clock', instructions: 'You know the time.', model: modelOfKit, tools: tools.map(toolOf) })
    const desk = new Agent({ name: 'Desk', instructions: 'You know who knows.', model: modelOfKit, handoffs: [clock] })
    for (const stream of [false, true]) {
      stage.script(lane, [
        { text: 'Clock knows.', tools: [{ name: 'transfer_to_Clock', arguments: {} }] },
        { tools: [{ name: 'get_time', arguments: CALLS[0] }] },
        { text: 'It is late.' },
      ])
      const result = stream ? await runner.run(desk, 'What time is it?', { stream }) : await runner.run(desk, 'What time is it?')
      if ('completed' in result) await result.completed
      expect(result.finalOutput).toBe('It is late.')
      expect(result.lastAgent?.name).toBe('Clock')
      expect(stage.heard(lane, 3)).toMatchObject({ system: ['You know who knows.'], tools: [{ name: 'transfer_to_Clock' }] })
      const heard = stage.heard(lane)
      expect(heard.system).toEqual(['You know the time.'])
      expect(heard.tools.map(tool => tool.name)).toEqual(['get_weather', 'get_time'])
      expect(partsOf(heard, 'call').map(call => call.name)).toEqual(['transfer_to_Clock', 'get_time'])
      expect(partsOf(heard, 'result').map(result => result.id)).toEqual(partsOf(heard, 'call').map(call => call.id))
    }
    expect(seen).toHaveLength(2)
  })
})

describe('ai with openai, responses, without settings', () => {
  // It sends references instead of texts and reasoning, because by default the API keeps them.
  test.each(lanesFor('responses'))('what only the provider can have kept is served by it, or the client is told: $name', async lane => {
    const model = createOpenAI({ baseURL: `${stage.url}/v1`, apiKey: KEYS.good }).responses(modelOf(lane, 'sim'))
    const { response } = await generateText({ model, prompt: 'Hello', maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello' }, ...response.messages, { role: 'user' as const, content: 'And?' }]
    const going = generateText({ model, messages, maxRetries: 0 })
    if (lane.isNative) {
      expect((await going).text).toBe(TEXT)
      const { input } = JSON.parse(stage.simulator.requests.at(-1)?.body ?? '')
      expect(input).toMatchObject([{ role: 'user' }, { type: 'item_reference' }, { role: 'user' }])
    } else expect(await failureOf(going)).toMatchObject({ statusCode: 400, message: expect.stringMatching(/item_reference.*store/) })
  })
})

describe.each(lanesFor('messages'))('ai with anthropic before $name', lane => {
  test('a shape for the answer, asked for as the input of a tool', async () => {
    const model = createAnthropic({ baseURL: `${stage.url}/v1`, apiKey: KEYS.good })(modelOf(lane, 'scene'))
    stage.script(lane, [{ tools: [{ name: 'json', arguments: REPORT }] }])
    const providerOptions = { anthropic: { structuredOutputMode: 'jsonTool' } }
    const asked = { model, prompt: 'Report.', output: Output.object({ schema: Report }), providerOptions, maxRetries: 0 }
    expect((await generateText(asked)).output).toEqual(REPORT)
    expect(stage.heard(lane).choice).toEqual('any')
    expect(await streamText(asked).output).toEqual(REPORT)
  })
})
