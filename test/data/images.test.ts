// An image that a model makes unasked reaches each client: as an image where its dialect has images in answers, else by name.

import { describe, expect, test } from 'vitest'
import type { Body, Context, Json, Mapping } from '../../engine/plan.js'
import { plan } from '../engine/plan.js'
import { CONTEXT } from '../fixtures.js'
import { type Client, clientOf } from '../properties/dialects/table.js'
import { reduce } from '../properties/streams.js'

const ctx: Context = { ...CONTEXT, traits: {} }
const DATA = 'iVBORw0KGgo='
const NOTICE = '[The model made an image (image/png), which this API cannot return.]'

const CLIENTS: readonly string[] = ['chat', 'completions', 'generate', 'messages', 'ollama', 'ollama_generate', 'responses']

/** What a mapping carries from a client's request to its answer. */
const carryOf = (client: string, { carry }: Mapping): Json => carry?.((clientOf(client) as Client).asking as Body, ctx)

interface Answer {
  whole: Body
  events: Body[]
}

/** What a provider answers: a text, if there is one, and an image. */
const PROVIDERS: Readonly<Record<string, (text: string) => Answer>> = {
  generate: text => {
    const parts = [...(text === '' ? [] : [{ text }]), { inlineData: { mimeType: 'image/png', data: DATA } }]
    const whole = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      modelVersion: 'm',
      responseId: 'r1',
    }
    return { whole, events: [whole] }
  },
  chat: text => {
    const said = { role: 'assistant', content: text, images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${DATA}` } }] }
    const head = { id: 'c1', created: 1, model: 'm' }
    return {
      whole: { ...head, object: 'chat.completion', choices: [{ index: 0, message: said, finish_reason: 'stop' }] },
      events: [{ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: said, finish_reason: 'stop' }] }],
    }
  },
  responses: text => {
    const message = {
      type: 'message',
      id: 'm1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    }
    const image = { type: 'image_generation_call', id: 'i1', status: 'completed', result: DATA }
    const items = [...(text === '' ? [] : [message]), image]
    const response = { id: 'resp_1', object: 'response', model: 'm', created_at: 1, status: 'completed', output: items }
    return {
      whole: response,
      events: [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        ...(text === '' ? [] : [{ type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm1', delta: text }]),
        ...items.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
        { type: 'response.completed', response },
      ],
    }
  },
}

const pairs = Object.keys(PROVIDERS).flatMap(provider =>
  CLIENTS.filter(client => client !== provider).map(client => [client, provider] as const),
)

test.each(pairs)('a %s client of a %s provider gets it, or its notice', (client, provider) => {
  const mapping = plan.mappings[`${client}-to-${provider}`] as Mapping
  const carry = carryOf(client, mapping)
  for (const text of ['', 'Here it is:']) {
    const { whole, events } = (PROVIDERS[provider] as (text: string) => Answer)(text)
    for (const said of [mapping.response?.(whole, ctx, carry), mapping.stream && reduce(mapping.stream, events, ctx, carry).events]) {
      const written = JSON.stringify(said)
      expect(written.includes(DATA) || written.includes(NOTICE), written).toBe(true)
      expect(written).toContain(text)
    }
  }
})

describe('an image at an address', () => {
  test.each(['messages', 'responses', 'generate', 'completions', 'ollama'])('is a link in the text of a %s client', client => {
    const mapping = plan.mappings[`${client}-to-chat`] as Mapping
    const carry = carryOf(client, mapping)
    const images = [{ type: 'image_url', image_url: { url: 'https://a.example/1.png' } }]
    const choice = { index: 0, finish_reason: 'stop' }
    const whole = { id: 'c1', model: 'm', choices: [{ ...choice, message: { role: 'assistant', content: null, images } }] }
    const event = { id: 'c1', model: 'm', choices: [{ ...choice, delta: { images } }] }
    for (const said of [mapping.response?.(whole, ctx, carry), mapping.stream && reduce(mapping.stream, [event], ctx, carry).events])
      expect(JSON.stringify(said)).toContain('![image](https://a.example/1.png)')
  })
})
