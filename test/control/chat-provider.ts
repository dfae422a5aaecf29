// A provider of chat for tests of what is kept: it shows what it was asked.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Said {
  role: string
  content: unknown
  tool_calls?: { function: { name: string } }[]
}

/** A provider of chat that answers with the number of the request, and calls a tool where it is offered one and has no result. */
export async function startChat(): Promise<{ url: string; seen: Said[][]; server: Server }> {
  const seen: Said[][] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', part => (text += part))
    request.on('end', () => {
      const { messages, stream, tools } = JSON.parse(text) as { messages: Said[]; stream?: boolean; tools?: unknown[] }
      seen.push(messages)
      const call = { index: 0, id: `call_${seen.length}`, type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }
      const calls = tools && messages.at(-1)?.role !== 'tool' ? [call] : undefined
      const message = { role: 'assistant', content: calls ? null : `turn ${seen.length}`, ...(calls && { tool_calls: calls }) }
      const finish_reason = calls ? 'tool_calls' : 'stop'
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
      const head = { id: `c${seen.length}`, created: 1, model: 'x' }
      if (!stream) {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage }))
        return
      }
      response.setHeader('content-type', 'text/event-stream')
      const chunk = (more: object): string => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`
      response.write(chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] }))
      response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason }], usage }))
      response.end('data: [DONE]\n\n')
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, server }
}

/** What each message that it was asked with says. */
export const contents = (messages: Said[] | undefined): unknown[] => (messages ?? []).map(({ content }) => content)
