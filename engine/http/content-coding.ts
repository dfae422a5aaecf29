// Compressed request bodies. They are decompressed here, read as plain text, and go to the upstream uncompressed.

import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { GatewayError } from '../core/errors.js'

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** The decompressed bytes of a body. Stops at `most` bytes, so that a small body cannot expand without bound. */
export async function decoded(bytes: Buffer, coding: string, most: number): Promise<Buffer> {
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined
  if (decode === undefined)
    throw new GatewayError(
      'unsupported_media',
      `The content encoding of the request is not supported. Use one of: identity, gzip, deflate, br.`,
    )
  try {
    return await decode(bytes, { maxOutputLength: most })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new GatewayError('too_large', `The request body is larger than ${most} bytes once it is decompressed.`)
    throw new GatewayError('invalid_request', `The request body is not valid ${coding}.`, { code: 'invalid_body' })
  }
}
