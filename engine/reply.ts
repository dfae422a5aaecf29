// Answer → client: bytes where both speak alike, a mapped body where not, a stream as a stream.

import type { Upstream } from './call.js'
import type { Choice } from './choose.js'
import type { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import { type Minter, minterOf } from './mint.js'
import type { Answer } from './send.js'
import { relayStream } from './stream.js'
import { atEndOfTurn } from './turn.js'
import { mergeUsage, readUsage } from './usage.js'
import { understood } from './whole.js'
import type { Route, World } from './world.js'

/** Resolves when a stream, or bytes, have been handed on; a whole body leaves at the end of the turn. */
export function reply(route: Route, choice: Choice, answer: Answer, call: Exchange, world: World): Promise<void> | undefined {
  const { way } = answer
  const minter = minterOf(route, way, choice, call, world)
  const headers = headersOf(route, answer, call)
  call.log.isStream = answer.kind === 'stream'
  if (answer.kind === 'stream') return relayStream(answer, route.framing ?? way.from.stream?.framing ?? 'sse', headers, call, minter)
  if (answer.kind === 'bytes') return relayBytes(answer.upstream, headers, call)
  if (answer.kind === 'whole') {
    const usage = mergeUsage(undefined, readUsage(way.to.usage, answer.body))
    if (usage) call.log.usage = usage
  }
  const text = minter ? understood(() => minted(answer.text, minter)) : answer.text
  const status = answer.kind === 'whole' && way.mapping === undefined ? answer.upstream.status : 200
  headers['content-type'] = 'application/json'
  atEndOfTurn(() => call.send(status, headers, text))
  return undefined
}

function minted(body: Buffer | string, minter: Minter): string {
  return minter.whole(typeof body === 'string' ? body : body.toString('utf8'))
}

/** What says of bytes what they are. */
const OF_BYTES = ['content-type', 'content-range', 'accept-ranges', 'content-disposition', 'content-encoding', 'etag', 'last-modified']

/** Sends bytes on as they come, with their length where it is known; a slow client makes the upstream wait. */
function relayBytes(upstream: Upstream, more: Readonly<Record<string, string>>, call: Exchange): Promise<void> {
  const headers: Record<string, string> = { ...more }
  for (const name of OF_BYTES) {
    const value = upstream.header(name)
    if (value !== undefined) headers[name] = value
  }
  const announced = upstream.header('content-length')
  const length = announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined
  return new Promise(resolve => {
    const sink = call.open(upstream.status, headers, length)
    let isOver = false
    const close = (): void => {
      isOver = true
      resolve()
    }
    const fail = (error: GatewayError): void => {
      if (isOver) return
      call.log.error = { kind: error.kind, message: error.message }
      call.log.isPartial = true
      // Bytes have no word for a failure: only a broken connection tells that they are not all.
      sink.destroy()
      upstream.cancel()
      close()
    }
    sink.onDrain(() => upstream.resume())
    call.onEnding(fail)
    call.onAbort(() => {
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

function headersOf(route: Route, answer: Answer, call: Exchange): Record<string, string> {
  const headers: Record<string, string> = {}
  const { rendered, way } = answer
  if (rendered.dropped.length > 0) {
    headers['x-sluice-dropped'] = rendered.dropped.join(', ')
    call.log.dropped = rendered.dropped
  }
  if (way.mapping === undefined && answer.kind !== 'joined') {
    for (const name of route.mirror) {
      const value = answer.upstream.header(name)
      if (value !== undefined) headers[name] = value
    }
  }
  if (way.target.passes && answer.kind !== 'joined') Object.assign(headers, answer.upstream.headersThat(way.target.passes))
  const { requestIdHeader } = way.from.error
  if (requestIdHeader !== undefined) headers[requestIdHeader] ??= call.id
  return headers
}
