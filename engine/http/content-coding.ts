// Compressed request bodies. They are decompressed here, read as plain bytes, and go to the upstream uncompressed.

import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import { brotliDecompress, createBrotliDecompress, createGunzip, createInflate, gunzip, inflate } from 'node:zlib'
import { GatewayError } from '../core/errors.js'
import type { Arriving, Exchange, Receiver } from '../core/exchange.js'
import type { Limits } from '../plan.js'

interface Coding {
  /** Decompresses a body that is there. */
  whole(bytes: Buffer, options: { maxOutputLength: number }): Promise<Buffer>
  /** Decompresses a body that arrives. */
  stream(): Transform
}

const GZIP: Coding = { whole: promisify(gunzip), stream: createGunzip }

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { whole: promisify(inflate), stream: createInflate }],
  ['br', { whole: promisify(brotliDecompress), stream: createBrotliDecompress }],
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

function known(name: string): Coding {
  const coding = CODINGS.get(name)
  if (coding === undefined)
    throw new GatewayError(
      'unsupported_media',
      'The content encoding of the request is not supported. Use one of: identity, gzip, deflate, br.',
    )
  return coding
}

const invalid = (coding: string): GatewayError =>
  new GatewayError('invalid_request', `The request body is not valid ${coding}.`, { code: 'invalid_body' })

const tooLarge = (most: number): GatewayError =>
  new GatewayError('too_large', `The request body is larger than ${most} bytes once it is decompressed.`)

/** The decompressed bytes of a body. Stops at `most` bytes, so that a small body cannot expand without bound. */
export async function decoded(bytes: Buffer, coding: string, most: number): Promise<Buffer> {
  const { whole } = known(coding)
  try {
    return await whole(bytes, { maxOutputLength: most })
  } catch (error) {
    throw (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(most) : invalid(coding)
  }
}

/** The body of a request as it arrives, without its coding. Throws if the coding is not known. */
export function arriving(exchange: Exchange): Arriving {
  const coding = codingOf(exchange)
  return coding === undefined ? exchange : new Decoding(exchange, coding, known(coding).stream())
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
