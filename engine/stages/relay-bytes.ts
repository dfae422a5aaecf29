// Bytes from an upstream to a client, as they come; a slow client makes the upstream wait.

import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { mergeUsage, readUsage } from '../core/usage.js'
import type { Json, RawUsage } from '../plan.js'
import type { UpstreamResponse } from '../upstream/call.js'

/** Headers that say what bytes are. */
const OF_BYTES = ['content-type', 'content-range', 'accept-ranges', 'content-disposition', 'content-encoding', 'etag', 'last-modified']

type ReadUsage = (body: Json) => RawUsage | undefined

const IS_JSON = /^application\/json\b/

/** Where bytes are JSON, it is looked through for what it cost, up to so many of them. */
const LONGEST_JSON = 1024 * 1024

/** Takes the bytes of an answer that may tell what it cost; `read` says whether it did. */
class Told {
  private parts: Buffer[] | undefined = []
  private length = 0

  take(chunk: Buffer): void {
    this.length += chunk.length
    if (this.length > LONGEST_JSON) this.parts = undefined
    else this.parts?.push(Buffer.from(chunk))
  }

  read(usage: ReadUsage): RawUsage | undefined {
    try {
      return this.parts && readUsage(usage, JSON.parse(Buffer.concat(this.parts).toString()))
    } catch {
      // It was not what it was called.
      return undefined
    }
  }
}

/** Sends bytes on with their length, where it is known; resolves when the answer is over, however it ended. */
export function relayBytes(
  response: UpstreamResponse,
  more: Readonly<Record<string, string>>,
  exchange: Exchange,
  usage: ReadUsage | undefined,
): Promise<void> {
  const headers: Record<string, string> = { ...more }
  for (const name of OF_BYTES) {
    const value = response.header(name)
    if (value !== undefined) headers[name] = value
  }
  const announced = response.header('content-length')
  const length = announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined
  const told = usage !== undefined && IS_JSON.test(response.header('content-type') ?? '') ? new Told() : undefined
  return new Promise(resolve => {
    const sink = exchange.open(response.status, headers, length)
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
      response.cancel()
      close()
    }
    sink.onDrain(() => response.resume())
    exchange.onEnding(fail)
    exchange.onAbort(() => {
      response.cancel()
      close()
    })
    response.startIdle()
    response.receive({
      data(chunk) {
        told?.take(chunk)
        if (!isOver && !sink.write(chunk)) response.pause()
      },
      end() {
        if (isOver) return
        const found = told && usage && mergeUsage(exchange.log.usage, told.read(usage))
        if (found) exchange.log.usage = found
        sink.end()
        close()
      },
      fail,
    })
  })
}
