// Answer → client: bytes where both speak alike, a mapped body where not, a stream as a stream.

import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { mergeUsage, readUsage } from '../core/usage.js'
import { atEndOfTurn } from '../http/write-batch.js'
import type { Route, Snapshot } from '../snapshot/snapshot.js'
import type { UpstreamResponse } from '../upstream/call.js'
import type { Choice } from './choose.js'
import { type IdSealer, idSealerOf } from './seal-ids.js'
import type { Answer } from './send.js'
import { relayStream } from './stream.js'
import { understood } from './whole-answer.js'

/** Resolves when a stream, or bytes, have been handed on; a whole body leaves at the end of the turn. */
export function reply(route: Route, choice: Choice, answer: Answer, exchange: Exchange, snapshot: Snapshot): Promise<void> | undefined {
  const { binding } = answer
  const idSealer = idSealerOf(route, binding, choice, exchange, snapshot)
  const headers = headersOf(route, answer, exchange)
  exchange.log.isStream = answer.kind === 'stream'
  if (answer.kind === 'stream')
    return relayStream(answer, route.framing ?? binding.from.stream?.framing ?? 'sse', headers, exchange, idSealer)
  if (answer.kind === 'bytes') return relayBytes(answer.upstream, headers, exchange)
  if (answer.kind === 'whole') {
    const usage = mergeUsage(undefined, readUsage(binding.to.usage, answer.body))
    if (usage) exchange.log.usage = usage
  }
  const text = idSealer ? understood(() => sealedBody(answer.text, idSealer)) : answer.text
  const status = answer.kind === 'whole' && binding.mapping === undefined ? answer.upstream.status : 200
  headers['content-type'] = 'application/json'
  atEndOfTurn(() => exchange.send(status, headers, text))
  return undefined
}

function sealedBody(body: Buffer | string, idSealer: IdSealer): string {
  return idSealer.whole(typeof body === 'string' ? body : body.toString('utf8'))
}

/** What says of bytes what they are. */
const OF_BYTES = ['content-type', 'content-range', 'accept-ranges', 'content-disposition', 'content-encoding', 'etag', 'last-modified']

/** Sends bytes on as they come, with their length where it is known; a slow client makes the upstream wait. */
function relayBytes(upstream: UpstreamResponse, more: Readonly<Record<string, string>>, exchange: Exchange): Promise<void> {
  const headers: Record<string, string> = { ...more }
  for (const name of OF_BYTES) {
    const value = upstream.header(name)
    if (value !== undefined) headers[name] = value
  }
  const announced = upstream.header('content-length')
  const length = announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined
  return new Promise(resolve => {
    const sink = exchange.open(upstream.status, headers, length)
    let isOver = false
    const close = (): void => {
      isOver = true
      resolve()
    }
    const fail = (error: GatewayError): void => {
      if (isOver) return
      exchange.log.error = { kind: error.kind, message: error.message }
      exchange.log.isPartial = true
      // Bytes have no word for a failure: only a broken connection tells that they are not all.
      sink.destroy()
      upstream.cancel()
      close()
    }
    sink.onDrain(() => upstream.resume())
    exchange.onEnding(fail)
    exchange.onAbort(() => {
      upstream.cancel()
      close()
    })
    upstream.startIdle()
    upstream.receive({
      data(chunk) {
        if (!isOver && !sink.write(chunk)) upstream.pause()
      },
      end() {
        if (isOver) return
        sink.end()
        close()
      },
      fail,
    })
  })
}

function headersOf(route: Route, answer: Answer, exchange: Exchange): Record<string, string> {
  const headers: Record<string, string> = {}
  const { rendered, binding } = answer
  if (rendered.dropped.length > 0) {
    headers['x-sluice-dropped'] = rendered.dropped.join(', ')
    exchange.log.dropped = rendered.dropped
  }
  if (binding.mapping === undefined && answer.kind !== 'joined') {
    for (const name of route.mirror) {
      const value = answer.upstream.header(name)
      if (value !== undefined) headers[name] = value
    }
  }
  if (binding.target.passes && answer.kind !== 'joined') Object.assign(headers, answer.upstream.headersThat(binding.target.passes))
  const { requestIdHeader } = binding.from.error
  if (requestIdHeader !== undefined) headers[requestIdHeader] ??= exchange.id
  return headers
}
