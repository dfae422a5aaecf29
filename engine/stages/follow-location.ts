// Fetches answers from an address that the provider named. The request carries no credential of the provider.

import { GatewayError } from '../core/errors.js'
import type { Json } from '../plan.js'
import { call, type UpstreamResponse } from '../upstream/call.js'
import { dispatcherFor } from '../upstream/fetch-media.js'
import { passedOn } from '../upstream/request-header.js'
import type { Attempt } from './attempt.js'

const MOST_HOPS = 3

/** The bytes at an address. Throws `upstream` if the address is private, redirects too often, or has no content. */
export async function followLocation(location: Json, { binding, route, limits, exchange, snapshot }: Attempt): Promise<UpstreamResponse> {
  const { target } = binding
  const unreadable = (why: string): GatewayError =>
    new GatewayError('upstream', 'The answer is at an address that cannot be fetched.', { cause: `${target.name}: ${why}` })
  const headers = ['accept', '*/*', 'user-agent', 'sluice']
  for (const name of route.forward) {
    const value = exchange.headers[name]
    if (value !== undefined) headers.push(name, passedOn(name, value))
  }
  const addressOf = (text: string, base?: URL): URL => {
    try {
      return new URL(text, base)
    } catch {
      throw unreadable('the address is not a URL')
    }
  }
  let at = addressOf(String(location))
  for (let hops = 0; hops <= MOST_HOPS; hops++) {
    // An address on the provider's own host may be private if the provider is.
    const dispatcher = dispatcherFor(at, snapshot.mayFetchPrivate || at.host === target.host)
    if (dispatcher === undefined) throw unreadable('the address is not public')
    const path = at.pathname + at.search
    const response = await call({ dispatcher, origin: at.origin, method: 'GET', path, headers, name: target.name }, limits, exchange)
    if (response.status < 300 || response.status === 304 || response.status === 416) return response
    response.release()
    const next = response.header('location')
    if (response.status >= 400 || next === undefined) throw unreadable(`the address answered with status ${response.status}`)
    at = addressOf(next, at)
  }
  throw unreadable('the address redirects too often')
}
