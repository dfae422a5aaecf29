// Public pages: a route's answer, made once; readers differ only in the address that they used.

import { hash, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { setLatest } from '../core/latest.js'
import type { RoutePlan } from '../plan.js'
import type { Copy, Model, Page } from './model.js'
import { viewOf } from './view.js'

const zip = promisify(gzip)

/** Addresses in the cache: a gateway has few, but a client can invent any. */
const ADDRESSES = 16

/** The page of a route, from the models that it shows. It is remade each day, because prices and dates may change. */
export function createPage({ answer, page }: RoutePlan, models: readonly Model[], times: number): Page | undefined {
  if (page === undefined || answer === undefined) return undefined
  const made = (): { day: string; parts: readonly string[]; copies: Map<string, Copy> } => {
    // Stands for the address until a reader comes; random, so that nothing else can contain it.
    const mark = randomUUID()
    const now = Math.floor(Date.now() / 1000)
    const body = answer({ models: models.map(model => viewOf(model, times)), query: {}, path: {}, now, address: mark })
    return { day: today(), parts: (typeof body === 'string' ? body : JSON.stringify(body)).split(mark), copies: new Map() }
  }
  let current = made()
  return {
    headers: { 'content-type': page.type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff', ...page.headers },
    at(address) {
      if (current.day !== today()) current = made()
      const { parts, copies } = current
      const key = parts.length > 1 ? address : ''
      const copy = copies.get(key) ?? copyOf(parts.join(address))
      setLatest(copies, key, copy, ADDRESSES)
      return copy
    },
  }
}

const today = (): string => new Date().toISOString().slice(0, 10)

function copyOf(text: string): Copy {
  const body = Buffer.from(text)
  let zipped: Promise<Buffer> | undefined
  return {
    // A weak tag, because compressed and plain are the same page in different bytes.
    etag: `W/"${hash('sha256', body, 'base64url').slice(0, 22)}"`,
    body,
    zipped: () => (zipped ??= zip(body)),
  }
}
