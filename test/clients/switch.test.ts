// A conversation with reasoning and calls that goes on with another provider: after a fail-over, or because somebody chose
// so. What one provider signed never reaches another, and every request is one that the other accepts.

import Anthropic from '@anthropic-ai/sdk'
import { type Content, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { providersFor, startAll } from './gateway.js'

let all: Awaited<ReturnType<typeof startAll>>
beforeAll(async () => {
  all = await startAll()
})
afterAll(() => all.close())

const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const RESULT = 'sunny-7731'

/** A first turn with reasoning, a second with a call, its result, and the answer, each from the provider that is named. */
type Loop = (first: string, second: string, third: string) => Promise<string>

const loops: Record<string, Loop> = {
  async chat(first, second, third) {
    const client = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: all.key, maxRetries: 0 })
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: schema } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }]
    const thought = await client.chat.completions.create({ model: `${first}/sim-reasoning`, messages, reasoning_effort: 'high' })
    messages.push(thought.choices[0]?.message as OpenAI.ChatCompletionMessageParam, { role: 'user', content: 'Weather?' })
    const called = await client.chat.completions.stream({ model: `${second}/sim-tools`, messages, tools }).finalChatCompletion()
    const message = called.choices[0]?.message
    messages.push(message as OpenAI.ChatCompletionMessageParam)
    for (const call of message?.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: call.id, content: RESULT })
    const last = await client.chat.completions.create({ model: `${third}/sim-tools`, messages, tools })
    return last.choices[0]?.message.content ?? ''
  },
  async messages(first, second, third) {
    const client = new Anthropic({ baseURL: all.url, apiKey: all.key, maxRetries: 0 })
    const tools = [{ name: 'get_weather', input_schema: schema }]
    const thinking = { type: 'enabled' as const, budget_tokens: 2048 }
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello' }]
    const more = { max_tokens: 4096, messages }
    const thought = await client.messages.create({ ...more, model: `${first}/sim-reasoning`, thinking })
    messages.push({ role: 'assistant', content: thought.content }, { role: 'user', content: 'Weather?' })
    const called = await client.messages.stream({ ...more, model: `${second}/sim-tools`, tools }).finalMessage()
    messages.push({ role: 'assistant', content: called.content })
    messages.push({
      role: 'user',
      content: called.content.flatMap(block =>
        block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: RESULT }] : [],
      ),
    })
    const last = await client.messages.create({ ...more, model: `${third}/sim-tools`, tools })
    return last.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  },
  async generate(first, second, third) {
    const client = new GoogleGenAI({ apiKey: all.key, httpOptions: { baseUrl: all.url } })
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: schema }] }]
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'Hello' }] }]
    const thought = await client.models.generateContent({
      model: `${first}/sim-reasoning`,
      contents,
      config: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } },
    })
    contents.push(thought.candidates?.[0]?.content as Content, { role: 'user', parts: [{ text: 'Weather?' }] })
    const parts = []
    for await (const chunk of await client.models.generateContentStream({ model: `${second}/sim-tools`, contents, config: { tools } }))
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    contents.push({ role: 'model', parts })
    contents.push({
      role: 'user',
      parts: parts.flatMap(({ functionCall: call }) =>
        call ? [{ functionResponse: { ...(call.id && { id: call.id }), name: call.name as string, response: { output: RESULT } } }] : [],
      ),
    })
    return (await client.models.generateContent({ model: `${third}/sim-tools`, contents, config: { tools } })).text ?? ''
  },
  async responses(first, second, third) {
    const client = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: all.key, maxRetries: 0 })
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters: schema, strict: false }]
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Hello' }]
    const more = { input, store: false, include: ['reasoning.encrypted_content' as const] }
    const thought = await client.responses.create({
      ...more,
      model: `${first}/sim-reasoning`,
      reasoning: { effort: 'high', summary: 'auto' },
    })
    input.push(...(thought.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'Weather?' })
    const called = await client.responses.stream({ ...more, model: `${second}/sim-tools`, tools }).finalResponse()
    input.push(...(called.output as OpenAI.Responses.ResponseInputItem[]))
    for (const item of called.output)
      if (item.type === 'function_call') input.push({ type: 'function_call_output', call_id: item.call_id, output: RESULT })
    return (await client.responses.create({ ...more, model: `${third}/sim-tools`, tools })).output_text
  },
}

describe.each(Object.entries(loops))('%s client', (dialect, loop) => {
  const providers = providersFor(dialect)
  const ways = providers.flatMap(first => providers.map((second): [string, string] => [first, second]))

  test.each(ways)('from %s to %s and back', async (first, second) => {
    const from = all.simulator.requests.length
    expect(await loop(first, second, first)).toContain(RESULT)
    if (first === second) return
    // The second provider was never shown what the first had signed for itself.
    const seen = all.simulator.requests[from + 1]?.body ?? ''
    expect(seen).not.toMatch(/sluice\.|c2x1aWNlL/)
  })
})
