// The head of a response.

import type { LogEntry } from '../core/exchange.js'
import type { Exposed } from '../snapshot/config.js'
import { type Answering, ascii, headerText } from './bytes.js'

/** What the exchange contributes to every head, whatever the answer is. */
export interface HeadOwner {
  readonly id: string
  readonly exposes: Exposed | undefined
  readonly answerHeaders: Readonly<Record<string, string>> | undefined
  readonly log: LogEntry
}

export function writeHead(
  res: Answering,
  status: number,
  headers: Readonly<Record<string, string>>,
  { id, exposes, answerHeaders, log }: HeadOwner,
): void {
  res.writeStatus(ascii(STATUS_LINES[status] ?? String(status)))
  res.writeHeader(ascii('x-request-id'), ascii(id))
  if (exposes !== undefined && log.attempts > 0) {
    if (exposes.target && log.target !== undefined) res.writeHeader(ascii('x-sluice-target'), headerText(log.target))
    if (exposes.attempts) res.writeHeader(ascii('x-sluice-attempts'), ascii(String(log.attempts)))
  }
  for (const name in headers) res.writeHeader(ascii(name), headerText(headers[name] as string))
  if (answerHeaders) for (const name in answerHeaders) res.writeHeader(ascii(name), headerText(answerHeaders[name] as string))
}

const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  206: '206 Partial Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  402: '402 Payment Required',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  416: '416 Range Not Satisfiable',
  429: '429 Too Many Requests',
  499: '499 Client Closed Request',
  500: '500 Internal Server Error',
  501: '501 Not Implemented',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
  529: '529 Overloaded',
})
