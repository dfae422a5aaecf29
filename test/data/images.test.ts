// An image that a model makes unasked reaches each client: as an image where its dialect has images in answers, else by name.

import { describe, expect, test } from 'vitest'
import type { Body, Context } from '../../engine/plan.js'
import { plan } from '../engine/plan.js'
import { CONTEXT } from '../fixtures.js'
import { reduce } from '../properties/streams.js'

const ctx: Context = { ...CONTEXT, traits: {} }
const DATA = 'iVBORw0KGgo='
const NOTICE = '[The model made an image (image/png), which this API cannot return.]'
const image = { inlineData: { mimeType: 'image/png', data: DATA } }
const answer = (...parts: object[]) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'm',
  responseId: 'r1',
})

const turns = [{ role: 'user', content: 'Hi' }]
const REQUESTS: Readonly<Record<string, Body>> = {
  chat: { model: 'm', messages: turns },
  completions: { model: 'm', prompt: 'Hi' },
  messages: { model: 'm', max_tokens: 100, messages: turns },
  ollama: { model: 'm', messages: turns },
  ollama_generate: { model: 'm', prompt: 'Hi' },
  responses: { model: 'm', input: turns },
}
const pairs = Object.entries(REQUESTS).map(([client, request]) => {
  const mapping = plan.mappings[`${client}-to-generate`]
  if (mapping?.response === undefined || mapping.stream === undefined) throw new Error(`${client}-to-generate has no answers`)
  return { client, whole: mapping.response, stream: mapping.stream, carry: mapping.carry?.(request, ctx) }
})

describe.each(pairs)('a client of $client', ({ whole, stream, carry }) => {
  test.each([
    ['alone', [image]],
    ['between texts', [{ text: 'Here' }, image, { text: 'it is.' }]],
  ])('gets it or its notice: %s', (_where, parts) => {
    const given = answer(...parts)
    const said = [whole(given, ctx, carry), reduce(stream, [given], ctx, carry).events].map(one => JSON.stringify(one))
    for (const text of said) {
      expect(text.includes(DATA) || text.includes(NOTICE), text).toBe(true)
      for (const { text: word } of parts as { text?: string }[]) if (word) expect(text).toContain(word)
    }
  })
})
