// Thoughts in a conversation go to the provider that made them. A text or a proof of a thought that is left out is named as
// dropped, between all dialects that have thoughts.

import { describe, expect, test } from 'vitest'
import type { Body, Context, Mapping } from '../../engine/plan.js'
import { plan } from '../engine/plan.js'
import { CONTEXT } from '../fixtures.js'

const ctx: Context = { ...CONTEXT, traits: {} }

interface Thought {
  text: string
  proof?: string
  hidden?: boolean
}

/** How a client says an earlier thought, and the members that say its text and its proof. */
interface Client {
  request(thought: Thought): Body
  text: string
  proof: string
  hidden?: string
  /** Proofs are base64. */
  encoded?: boolean
}

const CLIENTS: Readonly<Record<string, Client>> = {
  messages: {
    request: ({ text, proof, hidden }) => {
      const block = hidden ? { type: 'redacted_thinking', data: proof } : { type: 'thinking', thinking: text, signature: proof ?? '' }
      const said = { role: 'assistant', content: [block, { type: 'text', text: 'Hello' }] }
      return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }, said, { role: 'user', content: 'More' }] }
    },
    text: 'messages[].content[].thinking',
    proof: 'messages[].content[].signature',
    hidden: 'messages[].content[].data',
  },
  chat: {
    request: ({ text, proof, hidden }) => {
      const block = hidden ? { type: 'redacted_thinking', data: proof } : { type: 'thinking', thinking: text, signature: proof }
      const said = { role: 'assistant', content: 'Hello', reasoning_content: text, ...(proof && { thinking_blocks: [block] }) }
      return { model: 'm', messages: [{ role: 'user', content: 'Hi' }, said, { role: 'user', content: 'More' }] }
    },
    text: 'messages[].reasoning_content',
    proof: 'messages[].thinking_blocks',
    hidden: 'messages[].thinking_blocks',
  },
  responses: {
    request: ({ text, proof }) => {
      const summary = text === '' ? [] : [{ type: 'summary_text', text }]
      const thought = { type: 'reasoning', id: 'rs_1', summary, ...(proof && { encrypted_content: proof }) }
      return {
        model: 'm',
        input: [{ role: 'user', content: 'Hi' }, thought, { role: 'assistant', content: 'Hello' }, { role: 'user', content: 'More' }],
      }
    },
    text: 'input[].summary',
    proof: 'input[].encrypted_content',
  },
  generate: {
    request: ({ text, proof }) => {
      const thoughts = text === '' ? [] : [{ text, thought: true }]
      const said = { role: 'model', parts: [...thoughts, { text: 'Hello', ...(proof && { thoughtSignature: proof }) }] }
      return { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }, said, { role: 'user', parts: [{ text: 'More' }] }] }
    },
    text: 'contents[].parts[].thought',
    proof: 'contents[].parts[].thoughtSignature',
    encoded: true,
  },
}
const TEXT = 'a thought of its own'
const PROOF = 'cHJvb2Y='

const pairs = Object.entries(plan.mappings).flatMap(([pair, mapping]) => {
  const client = CLIENTS[mapping.from]
  return client && mapping.request ? [{ pair, mapping, client }] : []
})

describe.each(pairs)('$pair', ({ mapping, client }) => {
  const made = (thought: Thought): { sent: string; told: readonly string[] } => {
    const raw = client.request(thought)
    const body = plan.dialects[mapping.from]?.normaliseRequest?.(raw) ?? raw
    const request = mapping.request?.(body, ctx, mapping.carry?.(body, ctx))
    return { sent: JSON.stringify(request), told: mapping.dropped?.(body, ctx, request) ?? [] }
  }
  const sealed = (tag: string): string => (client.encoded ? btoa(tag + PROOF) : tag + PROOF)

  test('a text without a proof is sent or told', () => {
    const { sent, told } = made({ text: TEXT })
    expect(told.includes(client.text)).toBe(!sent.includes(TEXT))
  })

  test("another provider's proof is told, and its text if that is not sent", () => {
    const { sent, told } = made({ text: TEXT, proof: sealed('sluice.other.') })
    expect(sent).not.toContain(PROOF)
    expect(told).toContain(client.proof)
    expect(sent.includes(TEXT) || told.includes(client.text)).toBe(true)
  })

  test("another provider's proof without a text is told", () => {
    expect(made({ text: '', proof: sealed('sluice.other.') }).told).toContain(client.proof)
  })

  test('a thought that only another provider can read is told', () => {
    const { told } = made({ text: '', proof: sealed('sluice.other.redacted:'), hidden: true })
    expect(told).toContain(client.hidden ?? client.proof)
  })

  test("the provider's own proof is sent or told", () => {
    const { sent, told } = made({ text: TEXT, proof: sealed(String(ctx.tag)) })
    expect(told.includes(client.proof)).toBe(!sent.includes(PROOF))
  })
})

describe('a chat client sends an answer back in the order in which its provider wrote it', () => {
  const mapping = plan.mappings['chat-to-messages']
  /** A block for each letter: Thinking, Redacted thinking, text, call. */
  const blocks = (shape: string): Body[] =>
    [...shape].map((kind, at) => {
      if (kind === 'T') return { type: 'thinking', thinking: `thought ${at}`, signature: `proof${at}` }
      if (kind === 'R') return { type: 'redacted_thinking', data: `hidden${at}` }
      return kind === 't' ? { type: 'text', text: `🌍 ${at}.` } : { type: 'tool_use', id: `toolu_${at}`, name: 'f', input: { at } }
    })

  test.each(['Ttc', 'TcTtRc', 'tTc', 'TtTtcTc', 'tRtTcc', 'TccTtc', 'TcRT'])('%s', shape => {
    const content = blocks(shape)
    const usage = { input_tokens: 1, output_tokens: 1 }
    const answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content,
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage,
    }
    const asked = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], tools: [{ type: 'function', function: { name: 'f' } }] }
    const given = mapping?.response?.(answer, ctx, mapping.carry?.(asked, ctx)) as { choices: [{ message: Body }] }
    const message = JSON.parse(JSON.stringify(given.choices[0].message))
    const results = content.filter(({ id }) => id).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }))
    const body = { ...asked, messages: [...asked.messages, message, ...results] }
    const sent = mapping?.request?.(body, ctx, mapping.carry?.(body, ctx)) as { messages: Body[] }
    expect(JSON.parse(JSON.stringify(sent.messages[1]))).toEqual({ role: 'assistant', content })
  })
})

// What a chat provider requires back with a call reaches it in the next turn, though these clients do not send thoughts back as
// they were: the text of its reasoning, or its own list of what it thought.

const DETAILS = [
  { type: 'reasoning.summary', summary: `${TEXT} 100 % sure: \u{1F600} \ud83d`, index: 0, format: null },
  { type: 'reasoning.encrypted', data: 'AB+/=', id: 'a', index: 1 },
]
const RECORDS: Readonly<Record<string, { traits: Record<string, boolean>; said: Body }>> = {
  'the text of its reasoning': { traits: { reasoning_content: true }, said: { reasoning_content: TEXT } },
  'its own list of thoughts': { traits: {}, said: { reasoning_details: DETAILS } },
}

/** The next request of each client, from its first one and the answer to that. */
const NEXT: Readonly<Record<string, { first: Body; next(answer: Body): Body }>> = {
  generate: {
    first: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    next: answer => {
      const [candidate] = answer.candidates as { content: { role: string; parts: { thought?: boolean }[] } }[]
      const parts = candidate?.content.parts.filter(({ thought }) => thought !== true)
      const result = { functionResponse: { id: 'a', name: 'f', response: { output: 'ok' } } }
      return {
        contents: [
          { role: 'user', parts: [{ text: 'Hi' }] },
          { role: 'model', parts },
          { role: 'user', parts: [result] },
        ],
      }
    },
  },
  responses: {
    first: { model: 'm', input: 'Hi', include: ['reasoning.encrypted_content'] },
    next: answer => {
      const items = (answer.output as Body[]).map(item => (item.type === 'reasoning' ? { ...item, summary: [] } : item))
      return {
        model: 'm',
        input: [{ role: 'user', content: 'Hi' }, ...items, { type: 'function_call_output', call_id: 'a', output: 'ok' }],
      }
    },
  },
  messages: {
    first: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], thinking: { type: 'enabled', budget_tokens: 50 } },
    next: ({ content }) => {
      const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] }
      return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content }, result] }
    },
  },
}

describe.each(Object.entries(RECORDS))('a chat provider gets back %s', (_, { traits, said }) => {
  test.each(Object.entries(NEXT))('from a client of %s', (client, { first, next }) => {
    const { carry, request, response, dropped } = plan.mappings[`${client}-to-chat`] as Required<Mapping>
    const own = { ...ctx, traits }
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    const message = { role: 'assistant', content: 'Wait.', ...said, tool_calls: [call] }
    const whole = {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    }
    const body = next(response(whole, own, carry(first, own)) as Body)
    const sent = request(body, own, carry(body, own)) as { messages: Body[] }
    expect(sent.messages[1]).toMatchObject({ ...said, tool_calls: [call] })
    const { text, proof } = CLIENTS[client] as Client
    const told = dropped(body, own, sent)
    expect(told).not.toContain(text)
    expect(told).not.toContain(proof)
  })
})
