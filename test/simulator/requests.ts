// Requests to the simulator without a vendor's client: the request that each dialect needs, and the bytes of the answer.

import { connect } from 'node:net'
import { PATIENCE } from '../polling.js'

export type Ask = {
  dialect: string
  path: (model: string, streams: boolean) => string
  body: (model: string, streams: boolean) => Record<string, unknown>
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city', 'days'],
}
const format = { type: 'json_schema', name: 'weather', schema }

export const asks: Ask[] = [
  {
    dialect: 'chat',
    path: () => '/v1/chat/completions',
    body: (model, stream) => ({
      model,
      stream,
      ...(stream && { stream_options: { include_usage: true } }),
      messages: [{ role: 'user', content: 'What is the weather?' }],
      tools: [
        { type: 'function', function: { name: 'weather', parameters: schema } },
        { type: 'function', function: { name: 'clock' } },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'weather', schema } },
    }),
  },
  {
    dialect: 'messages',
    path: () => '/v1/messages',
    body: (model, stream) => ({
      model,
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'What is the weather?' }],
      tools: [
        { name: 'weather', input_schema: schema },
        { name: 'clock', input_schema: { type: 'object' } },
      ],
      output_config: { format: { type: 'json_schema', schema } },
    }),
  },
  {
    dialect: 'generate',
    path: (model, streams) => `/v1beta/models/${model}:${streams ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({
      contents: [{ role: 'user', parts: [{ text: 'What is the weather?' }] }],
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }, { name: 'clock' }] }],
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
    }),
  },
  {
    dialect: 'responses',
    path: () => '/v1/responses',
    body: (model, stream) => ({
      model,
      stream,
      input: 'What is the weather?',
      include: ['reasoning.encrypted_content'],
      tools: [
        { type: 'function', name: 'weather', parameters: schema, strict: null },
        { type: 'function', name: 'clock', parameters: null, strict: null },
      ],
      text: { format },
    }),
  },
]

export function ask(dialect: string): Ask {
  const found = asks.find(one => one.dialect === dialect)
  if (!found) throw new Error(`nothing is known of ${dialect}`)
  return found
}

export function post(url: string, { path, body }: Ask, model: string, streams = false, signal?: AbortSignal): Promise<Response> {
  return fetch(url + path(model, streams), { method: 'POST', body: JSON.stringify(body(model, streams)), ...(signal && { signal }) })
}

export type Event = { event?: string; data: string }

/** The events of a good SSE body, in both line ends. */
export function events(body: string): Event[] {
  return body
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map(block => ({
      event: /^event: (.*)$/m.exec(block)?.[1],
      data: [...block.matchAll(/^data: (.*)$/gm)].map(line => line[1]).join('\n'),
    }))
    .filter(({ data }) => data !== '')
    .map(({ event, data }) => ({ data, ...(event !== undefined && { event }) }))
}

export type Heard = { pieces: { text: string; after: number }[]; text: string; closed: 'ended' | 'reset' | 'no' }

/** What comes over a bare socket, piece by piece, until it closes, or has been silent for so long after the first piece. */
export function listen(url: string, { path, body }: Ask, model: string, silence = PATIENCE): Promise<Heard> {
  const { hostname, port, host } = new URL(url)
  const sent = JSON.stringify(body(model, true))
  return new Promise(resolve => {
    const pieces: Heard['pieces'] = []
    const began = performance.now()
    const socket = connect(Number(port), hostname)
    const done = (closed: Heard['closed']): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ pieces, text: pieces.map(piece => piece.text).join(''), closed })
    }
    let timer: NodeJS.Timeout | undefined
    socket.on('data', data => {
      clearTimeout(timer)
      timer = setTimeout(() => done('no'), silence)
      pieces.push({ text: data.toString('latin1'), after: performance.now() - began })
      if (pieces.at(-1)?.text.endsWith('\r\n0\r\n\r\n')) done('ended')
    })
    socket.on('error', () => done('reset'))
    socket.on('close', () => done('reset'))
    socket.write(`POST ${path(model, true)} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`)
  })
}
