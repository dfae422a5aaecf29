// Bodies that clients compress. They are read as if they had come plain, and go on plain.

import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { GatewayError } from '../core/errors.js'

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** The plain bytes of a body; at most `most` of them, however small the body is. */
export async function decoded(bytes: Buffer, coding: string, most: number): Promise<Buffer> {
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined
  if (decode === undefined)
    throw new GatewayError(
      'unsupported_media',
      `The content encoding of the request is not read here; use one of: identity, gzip, deflate, br.`,
    )
  try {
    return await decode(bytes, { maxOutputLength: most })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new GatewayError('too_large', `The request body is larger than ${most} bytes once it is decompressed.`)
    throw new GatewayError('invalid_request', `The request body is not valid ${coding}.`, { code: 'invalid_body' })
  }
}
