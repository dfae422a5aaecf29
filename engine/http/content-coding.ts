// Compressed request bodies. They are decompressed here, read as plain bytes, and go to the upstream uncompressed.

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { GatewayError } from '../core/errors.js'
import type { Arriving, Exchange, Receiver } from '../core/exchange.js'
import type { Limits } from '../plan.js'

/** What makes a decoder of each coding. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/** The name of a body's coding, in lower case; undefined: it has none. Of several, no coding has the name. */
export function codingOf({ headers }: Pick<Exchange, 'headers'>): string | undefined {
  const codings = headers['content-encoding']
    ?.toLowerCase()
    .split(',')
    .map(coding => coding.trim())
    .filter(coding => coding !== '' && coding !== 'identity')
  return codings === undefined || codings.length === 0 ? undefined : codings.join()
}

function decoderOf(coding: string): Transform {
  const create = DECODERS.get(coding)
  if (create === undefined)
    throw new GatewayError(
      'unsupported_media',
      'The content encoding of the request is not supported. Use one of: identity, gzip, deflate, br.',
    )
  return create()
}

const invalid = (coding: string): GatewayError =>
  new GatewayError('invalid_request', `The request body is not valid ${coding}.`, { code: 'invalid_body' })

const tooLarge = (most: number): GatewayError =>
  new GatewayError('too_large', `The request body is larger than ${most} bytes once it is decompressed.`)

/**
 * The decompressed bytes of a request's body. Stops at `most` bytes, and when the bodies of all requests take too much memory, so
 * that small bodies cannot expand without bound.
 */
export async function decoded(bytes: Buffer, coding: string, most: number, exchange: Exchange): Promise<Buffer> {
  const decoder = decoderOf(coding)
  const chunks: Buffer[] = []
  let length = 0
  decoder.end(bytes)
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > most) throw tooLarge(most)
      exchange.hold(chunk.length)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : invalid(coding)
  }
  return Buffer.concat(chunks, length)
}

/** The body of a request as it arrives, without its coding. Throws if the coding is not known. */
export function arriving(exchange: Exchange): Arriving {
  const coding = codingOf(exchange)
  return coding === undefined ? exchange : new Decoding(exchange, coding, decoderOf(coding))
}

/** While its receiver waits, it decompresses no more, and then pauses the client. */
class Decoding implements Arriving {
  constructor(
    private readonly exchange: Exchange,
    private readonly coding: string,
    private readonly decoder: Transform,
  ) {}

  receive(limits: Limits, receiver: Receiver): void {
    const { exchange, coding, decoder } = this
    let length = 0
    const fail = (error: GatewayError): void => {
      decoder.destroy()
      receiver.fail(error)
    }
    decoder.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limits.body) fail(tooLarge(limits.body))
      else receiver.data(chunk)
    })
    decoder.on('end', () => receiver.end())
    decoder.on('error', () => fail(invalid(coding)))
    decoder.on('drain', () => exchange.resume())
    exchange.onOver(() => decoder.destroy())
    exchange.receive(limits, {
      data(chunk) {
        if (!decoder.destroyed && !decoder.write(chunk)) exchange.pause()
      },
      end() {
        if (!decoder.destroyed) decoder.end()
      },
      fail,
    })
  }

  pause(): void {
    this.decoder.pause()
  }

  resume(): void {
    this.decoder.resume()
  }
}
