// Reads a form, and describes its parts by size and hash, because nobody wants a gigabyte back.

import uws from 'uWebSockets.js'
import { createHash } from 'node:crypto'

/** A received part of a form. */
export type Part = { name: string; filename?: string; type?: string; size: number; sha256: string }

const LARGEST_DATA = 1_048_576

export function partsOf(body: Buffer, type: string): Part[] | undefined {
  return uws.getParts(body, type)?.map(part => ({
    name: part.name,
    ...(part.filename !== undefined && { filename: part.filename }),
    ...(part.type !== undefined && { type: part.type }),
    size: part.data.byteLength,
    sha256: createHash('sha256').update(Buffer.from(part.data)).digest('hex'),
  }))
}

/** The form as an object: fields are texts, files are descriptions, and repeated names, or `name[]`, are lists. */
export function formOf(body: Buffer, type: string): Record<string, unknown> | undefined {
  const parts = uws.getParts(body, type)
  if (!parts) return undefined
  const form: Record<string, unknown> = {}
  for (const part of parts) {
    const isList = part.name.endsWith('[]')
    const name = isList ? part.name.slice(0, -2) : part.name
    const value = partValue(part)
    const known = form[name]
    form[name] = known === undefined ? (isList ? [value] : value) : Array.isArray(known) ? [...known, value] : [known, value]
  }
  return form
}

function partValue({ data, filename, type }: uws.MultipartField): unknown {
  const bytes = Buffer.from(data)
  if (filename === undefined) return bytes.toString()
  return {
    filename,
    content_type: type,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    data: bytes.length > LARGEST_DATA ? '' : bytes.toString('base64'),
  }
}
