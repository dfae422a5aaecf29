// The official OpenAI client, responses, in front of every provider.

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { providersFor, startAll } from './gateway.js'

let all: Awaited<ReturnType<typeof startAll>>
let client: OpenAI

beforeAll(async () => {
  all = await startAll()
  client = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: all.key, maxRetries: 0 })
})
afterAll(() => all.close())

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a place',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  strict: true,
}
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.each(providersFor('responses'))('responses client on %s', provider => {
  const ask = (name: string) => ({ model: `${provider}/${name}`, input: 'Hello', store: false })

  test('gets a text answer with usage, whole and as a stream', async () => {
    const whole = await client.responses.create(ask('sim'))
    expect(whole).toMatchObject({ object: 'response', status: 'completed', error: null })
    expect(whole.output_text).toMatch(/simulator/)
    expect(whole.usage?.total_tokens).toBe((whole.usage?.input_tokens ?? 0) + (whole.usage?.output_tokens ?? 0))
    const folded = await client.responses.stream(ask('sim')).finalResponse()
    expect(folded.output_text).toBe(whole.output_text)
    expect(folded.usage).toEqual(whole.usage)
  })

  test('events are numbered without a gap, and every item that is added is done', async () => {
    let next = 0
    const open = new Set<number>()
    const kinds: string[] = []
    for await (const event of await client.responses.create({ ...ask('sim-parallel'), tools: [weather], stream: true })) {
      expect(event.sequence_number).toBe(next++)
      kinds.push(event.type)
      if (event.type === 'response.output_item.added') open.add(event.output_index)
      else if (event.type === 'response.output_item.done') expect(open.delete(event.output_index)).toBe(true)
      else if (event.type === 'response.function_call_arguments.delta') expect(open.has(event.output_index)).toBe(true)
    }
    expect(open.size).toBe(0)
    expect(kinds[0]).toBe('response.created')
    expect(kinds.at(-1)).toBe('response.completed')
  })

  test('calls a tool, takes its result, and goes on', async () => {
    const first = await client.responses.stream({ ...ask('sim-tools'), tools: [weather] }).finalResponse()
    const call = first.output.find(item => item.type === 'function_call')
    expect(call?.name).toBe('get_weather')
    expect(typeof JSON.parse(call?.arguments ?? '{}').city).toBe('string')
    const second = await client.responses.create({
      ...ask('sim-tools'),
      tools: [weather],
      input: [
        { role: 'user', content: 'Hello' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'sunny-7731' },
      ],
    })
    expect(second.output_text).toContain('sunny-7731')
  })

  test('parallel calls have their own arguments, whole and as a stream', async () => {
    const options = { ...ask('sim-parallel'), tools: [weather] }
    const argumentsOf = (response: OpenAI.Responses.Response) =>
      response.output.flatMap(item => (item.type === 'function_call' ? [JSON.parse(item.arguments)] : []))
    const whole = argumentsOf(await client.responses.create(options))
    expect(whole.length).toBe(2)
    expect(argumentsOf(await client.responses.stream(options).finalResponse())).toEqual(whole)
  })

  test('reasoning is an item of its own and can be sent back', async () => {
    const options = {
      ...ask('sim-reasoning'),
      reasoning: { effort: 'high' as const, summary: 'auto' as const },
      include: ['reasoning.encrypted_content' as const],
    }
    const first = await client.responses.stream(options).finalResponse()
    const reasoning = first.output.find(item => item.type === 'reasoning')
    const thought = reasoning?.summary.map(part => part.text).join('') ?? ''
    expect(thought).toBeTruthy()
    expect(first.output_text).not.toContain(thought)
    const second = await client.responses.create({
      ...options,
      input: [
        { role: 'user', content: 'Hello' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { role: 'user', content: 'And?' },
      ],
    })
    expect(second.status).toBe('completed')
  })

  test('sends an image in base64', async () => {
    await client.responses.create({
      ...ask('sim'),
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
          ],
        },
      ],
    })
    expect(all.simulator.requests.at(-1)?.body).toContain(PNG)
  })

  test('structured output is what its schema accepts', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false }
    const answer = await client.responses.create({
      ...ask('sim-json'),
      text: { format: { type: 'json_schema', name: 'person', schema, strict: true } },
    })
    expect(typeof JSON.parse(answer.output_text).name).toBe('string')
  })

  test('a limit ends as such, whole and as a stream', async () => {
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    expect(await client.responses.create(ask('sim-length'))).toMatchObject(incomplete)
    expect(await client.responses.stream(ask('sim-length')).finalResponse()).toMatchObject(incomplete)
  })

  test.each([
    ['sim-status-400', 400],
    ['sim-status-429', 429],
    ['sim-status-500', 502],
    ['sim-status-401', 502],
  ])('%s before the stream is status %i', async (name, status) => {
    for (const stream of [false, true]) {
      const failure = await client.responses.create({ ...ask(name), stream }).then(
        () => undefined,
        error => error,
      )
      expect(failure).toBeInstanceOf(OpenAI.APIError)
      expect(failure.status).toBe(status)
    }
  })

  test.each(['sim-fail-2', 'sim-cut-3', 'sim-malformed-2', 'sim-noend'])('%s is never a complete answer', async name => {
    const kinds: string[] = []
    const read = async () => {
      for await (const event of await client.responses.create({ ...ask(name), stream: true })) kinds.push(event.type)
    }
    // The client hands the error on as an event, or throws it.
    await read().catch(() => kinds.push('error'))
    expect(kinds).toContain('error')
    expect(kinds).not.toContain('response.completed')
  })

  test('giving up cancels the upstream call', async () => {
    const stream = await client.responses.create({ ...ask('sim-1000-20ms'), stream: true })
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
    stream.controller.abort()
    await expect.poll(() => all.simulator.requests.at(-1)?.aborted, { timeout: 3000 }).toBe(true)
  })
})
