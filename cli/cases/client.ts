// The client of a scenario: it sends a request as it is written, and keeps every byte of the answer.

import { type IncomingMessage, request } from 'node:http'

export interface Message {
  status: number
  headers: Record<string, string>
  body: string
}

/** Stands at the end of an answer whose connection broke. */
const BROKEN = '‹broken off›'
/** Milliseconds. */
const LONGEST = 60_000

/** Sends a request and collects the answer. Rejects where none begins. An answer that breaks off ends with `‹broken off›`. */
export function ask(
  url: string,
  { method, path, headers, body }: { method: string; path: string; headers: Readonly<Record<string, string>>; body?: string },
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const call = request(new URL(url), { method, path, headers, agent: false, timeout: LONGEST }, response => {
      const pieces: Buffer[] = []
      const finish = (end: string): void =>
        resolve({ status: response.statusCode ?? 0, headers: flat(response), body: Buffer.concat(pieces).toString('utf8') + end })
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => finish(''))
      response.on('error', () => finish(BROKEN))
    })
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', reject)
    call.end(body)
  })
}

function flat(message: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]))
}
