// The estimate of a stream's tokens: the text of its events without what is equal in all of them.

import { expect, test } from 'vitest'
import { TokenCounter } from '../../engine/budgets/token-counter.js'

const WORDS = ['Hello', ' there', ', how', ' are', ' you', '?', ' A "quoted"', ' word\n', ' – and', ' the end']
const sse = (event: object): string => `data: ${JSON.stringify(event)}\n\n`

const chunk = (delta: object): string =>
  sse({ id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }] })

/** The events of an answer with some texts, as providers write them. */
const STREAMS: Record<string, (texts: readonly string[]) => string[]> = {
  'a first event with more members': texts => [chunk({ role: 'assistant', content: '' }), ...texts.map(content => chunk({ content }))],
  'a name before each event': texts =>
    texts.map(text => `event: content_block_delta\n${sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}`),
  'a number that counts': texts =>
    texts.map((delta, index) =>
      sse({ type: 'response.output_text.delta', sequence_number: index + 3, item_id: 'msg_1', delta, logprobs: [] }),
    ),
  'a figure behind the text': texts =>
    texts.map((text, index) => sse({ candidates: [{ content: { parts: [{ text }], role: 'model' } }], usage: { total: index } })),
  'blanks between members': texts =>
    texts.map(text => `data: {"id": "c-1", "object": "text_completion", "choices": [{"text": ${JSON.stringify(text)}, "index": 0}]}\n\n`),
}

const counted = (events: readonly string[], together = 1): number => {
  const counter = new TokenCounter()
  for (let at = 0; at < events.length; at += together) counter.count(Buffer.from(events.slice(at, at + together).join('')))
  return counter.total()
}

const bytesOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(JSON.stringify(text)) - 2, 0)

test.each(Object.keys(STREAMS))('%s: short texts count as one token each, long ones by their bytes', name => {
  const events = STREAMS[name] as (texts: readonly string[]) => string[]
  for (const together of [1, 3, 100]) {
    const short = events(WORDS)
    expect(counted(short, together)).toBeGreaterThanOrEqual(WORDS.length)
    // The first two events may add the members in which they differ.
    expect(counted(short, together)).toBeLessThan(WORDS.length + 15)
    const long = WORDS.map((word, index) => word.repeat(40 + index))
    const tokens = bytesOf(long) / 4
    expect(counted(events(long), together) / tokens).toBeGreaterThan(0.85)
    expect(counted(events(long), together) / tokens).toBeLessThan(1.15)
  }
})

test.each(Object.keys(STREAMS))('%s: two events are enough, and the total may be asked for twice', name => {
  const long = WORDS.slice(0, 3).map((word, index) => word.repeat(40 + index))
  const counter = new TokenCounter()
  for (const event of (STREAMS[name] as (texts: readonly string[]) => string[])(long.slice(0, 2))) counter.count(Buffer.from(event))
  const tokens = counter.total()
  expect(tokens).toBeGreaterThan(bytesOf(long.slice(0, 2)) / 8)
  expect(tokens).toBeLessThan(bytesOf(long.slice(0, 2)) / 3)
  expect(counter.total()).toBe(tokens)
})
