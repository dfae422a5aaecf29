// Fetches media that a request links to, for providers that take it only inside the request: from public addresses only,
// and limited in size, time and number. The caller chooses the addresses, so nothing of the gateway's own network may be
// reachable.

import { lookup } from 'node:dns'
import { isIP } from 'node:net'
import addresses from 'ipaddr.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { Gathered } from '../core/gathered.js'
import { mediaTypeOf } from '../core/media-type.js'
import { AS_BASE64 } from '../core/text.js'
import type { Json } from '../plan.js'

const MAX_COUNT = 20
const MAX_BYTES = 20 * 1024 * 1024
const MAX_TIME = 15_000
const MAX_REDIRECTS = 3

/** The global unicast range of IPv6 (RFC 4291, 2.4); the ranges that ipaddr.js names lie inside and outside of it. */
const GIVEN_OUT = addresses.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is public: in no special-purpose network, and in none that embeds addresses of another network.
 */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return false
  if (family === 4) return addresses.IPv4.parse(address).range() === 'unicast'
  // `URL` normalises the spelling to groups: ipaddr.js takes `::1.2.3.4` for `::ffff:1.2.3.4`.
  const found = addresses.IPv6.parse(new URL(`http://[${address}]`).hostname.slice(1, -1))
  if (found.isIPv4MappedAddress()) return isPublic(found.toIPv4Address().toString())
  return found.range() === 'unicast' && found.match(GIVEN_OUT)
}

/** Connects to a name only if all addresses of the name are public; check and connection use the same lookup. */
const guarded = new Agent({
  connect: {
    timeout: MAX_TIME,
    lookup(hostname, options, callback) {
      lookup(hostname, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, '', 0)
        const hidden = found.find(({ address }) => !isPublic(address))
        if (hidden) return callback(new Error('not a public address'), '', 0)
        if (options.all) callback(null, found)
        else callback(null, found[0]?.address ?? '', found[0]?.family ?? 0)
      })
    },
  },
})
const open = new Agent({ connect: { timeout: MAX_TIME } })

/** The dispatcher that may reach an address; undefined if none may. */
export function dispatcherFor(at: URL, mayBePrivate: boolean): Agent | undefined {
  if (at.protocol !== 'http:' && at.protocol !== 'https:') return undefined
  // A literal address has no lookup, so it is checked here.
  const literal = at.hostname.replace(/^\[|\]$/g, '')
  if (!mayBePrivate && isIP(literal) !== 0 && !isPublic(literal)) return undefined
  return mayBePrivate ? open : guarded
}

/** URL → `{ media_type, data }` with the data in base64. Throws `invalid_request` with the URL that could not be fetched. */
export async function fetchAll(urls: readonly unknown[], exchange: Exchange, mayBePrivate: boolean): Promise<Record<string, Json>> {
  const wanted = [...new Set(urls.filter(url => typeof url === 'string'))]
  if (wanted.length > MAX_COUNT) throw new GatewayError('invalid_request', `At most ${MAX_COUNT} addresses can be fetched for one request.`)
  const fetching = new AbortController()
  const stop = (): void => fetching.abort()
  exchange.onAbort(stop)
  const left = { bytes: MAX_BYTES }
  try {
    const found = wanted.map(async url => [url, await fetchOne(url, fetching.signal, left, exchange, mayBePrivate)] as const)
    return Object.fromEntries(await Promise.all(found))
  } finally {
    exchange.offAbort(stop)
    // After a refusal the others are fetched for nothing.
    stop()
  }
}

async function fetchOne(
  url: string,
  stopped: AbortSignal,
  left: { bytes: number },
  exchange: Exchange,
  mayBePrivate: boolean,
): Promise<Json> {
  const refuse = (why: string): GatewayError =>
    new GatewayError('invalid_request', `The address ${shown(url)} could not be fetched: ${why}.`, { code: 'invalid_image_url' })
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(MAX_TIME)])
  try {
    let at = new URL(url)
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (at.protocol !== 'http:' && at.protocol !== 'https:') throw refuse('only http and https are supported')
      const dispatcher = dispatcherFor(at, mayBePrivate)
      if (dispatcher === undefined) throw refuse('it is not a public address')
      const init = { redirect: 'manual' as const, signal, dispatcher, headers: { accept: '*/*', 'user-agent': 'sluice' } }
      // Loaded on demand, because it is large.
      const { fetch } = await import('undici')
      const response = await fetch(at, init)
      const location = response.headers.get('location')
      if (response.status >= 300 && response.status < 400 && location !== null) {
        await response.body?.cancel()
        at = new URL(location, at)
        continue
      }
      if (!response.ok) throw refuse(`it answered with status ${response.status}`)
      const gathered = new Gathered()
      for await (const chunk of response.body ?? []) {
        left.bytes -= chunk.length
        if (left.bytes < 0) throw refuse('it is too large')
        exchange.hold(chunk.length * AS_BASE64)
        gathered.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
      }
      const media_type = mediaTypeOf(response.headers.get('content-type') ?? 'application/octet-stream')
      return { media_type, data: gathered.take().toString('base64') }
    }
    throw refuse('it redirects too often')
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw refuse(signal.aborted ? 'it took too long' : 'it cannot be reached')
  }
}

function shown(url: string): string {
  return url.length > 200 ? `${url.slice(0, 200)}…` : url
}
