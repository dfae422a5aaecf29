// Fetches answers from an address that the provider named, or to which it redirects. The request carries no credential of
// the provider, except to the provider itself.

import { GatewayError } from '../core/errors.js'
import type { Json } from '../plan.js'
import type { Binding, Target } from '../snapshot/model.js'
import { call, type UpstreamRequest, type UpstreamResponse } from '../upstream/call.js'
import { dispatcherFor } from '../upstream/fetch-media.js'
import { passedOn } from '../upstream/request-header.js'
import { signed } from '../upstream/sign.js'
import type { Attempt } from './attempt.js'

const MOST_HOPS = 3

const unreadable = (target: Target, why: string): GatewayError =>
  new GatewayError('upstream', 'The answer is at an address that cannot be fetched.', { cause: `${target.name}: ${why}` })

/** Whether the bytes that were asked for lie at another address. */
export function isElsewhere(response: UpstreamResponse, { method }: UpstreamRequest, { to }: Binding): boolean {
  const { status } = response
  return status >= 300 && status < 400 && to.response === 'bytes' && method === 'GET' && response.header('location') !== undefined
}

/** The bytes to which a provider redirects: at its own origin with the same request, at another one as at any address. */
export async function followRedirect(redirect: UpstreamResponse, request: UpstreamRequest, attempt: Attempt): Promise<UpstreamResponse> {
  const { binding, limits, exchange } = attempt
  let response = redirect
  let { path } = request
  for (let hops = 0; isElsewhere(response, request, binding); hops++) {
    response.release()
    if (hops === MOST_HOPS) throw unreadable(binding.target, 'it redirects too often')
    const at = addressOf(String(response.header('location')), binding.target, new URL(path, request.origin))
    if (at.origin !== request.origin) return followLocation(at.href, attempt)
    path = at.pathname + at.search
    response = await call(signed({ ...request, path }, binding), limits, exchange)
  }
  return response
}

function addressOf(text: string, target: Target, base?: URL): URL {
  try {
    return new URL(text, base)
  } catch {
    throw unreadable(target, 'the address is not a URL')
  }
}

/** The bytes at an address. Throws `upstream` if the address is private, redirects too often, or has no content. */
export async function followLocation(location: Json, { binding, route, limits, exchange, snapshot }: Attempt): Promise<UpstreamResponse> {
  const { target } = binding
  const headers = ['accept', '*/*', 'user-agent', 'sluice']
  for (const name of route.forward) {
    const value = exchange.headers[name]
    if (value !== undefined) headers.push(name, passedOn(name, value))
  }
  let at = addressOf(String(location), target)
  for (let hops = 0; hops <= MOST_HOPS; hops++) {
    // An address on the provider's own host may be private if the provider is.
    const dispatcher = dispatcherFor(at, snapshot.mayFetchPrivate || at.host === target.host)
    if (dispatcher === undefined) throw unreadable(target, 'the address is not public')
    const path = at.pathname + at.search
    const response = await call({ dispatcher, origin: at.origin, method: 'GET', path, headers, name: target.name }, limits, exchange)
    if (response.status < 300 || response.status === 304 || response.status === 416) return response
    response.release()
    const next = response.header('location')
    if (response.status >= 400 || next === undefined) throw unreadable(target, `the address answered with status ${response.status}`)
    at = addressOf(next, target, at)
  }
  throw unreadable(target, 'the address redirects too often')
}
