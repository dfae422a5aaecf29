// The head of an answer.

import { type Answering, ascii, headerText } from './bytes.js'

export function writeHead(res: Answering, status: number, headers: Readonly<Record<string, string>>, id: string): void {
  res.writeStatus(ascii(STATUS_LINES[status] ?? String(status)))
  res.writeHeader(ascii('x-request-id'), ascii(id))
  for (const name in headers) res.writeHeader(ascii(name), headerText(headers[name] as string))
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
