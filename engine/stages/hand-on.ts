// The reverse proxy for an upstream's API that has no schema: path, query, headers and bodies pass unchanged. Keys, limits,
// budgets and the log are the gateway's.

import { noteLabels } from '../control/labels.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Limits } from '../plan.js'
import type { Binding, Key, ReverseProxy, Route, Snapshot } from '../snapshot/model.js'
import { call, type UpstreamRequest, type UpstreamResponse } from '../upstream/call.js'
import { errorFrom, PROXY_REFUSES } from '../upstream/refusal.js'
import { passedOn } from '../upstream/request-header.js'
import { signed } from '../upstream/sign.js'
import type { Attempt } from './attempt.js'
import { callersCredential } from './callers-credential.js'
import { failover } from './failover.js'
import { fundRequest } from './fund.js'
import { limit, refuseEarly } from './limit.js'
import { withoutBody } from './read.js'
import { passBytes } from './relay-bytes.js'
import { uploadOf } from './upload.js'

/** Response headers about the upstream's connection or site, which do not apply to the gateway's. */
const STAYS =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|date|x-request-id|set-cookie2?|alt-svc|strict-transport-security|access-control-.*|clear-site-data|nel|report-to)$/

/** Methods for connections, not for resources. */
const NEVER = new Set(['CONNECT', 'TRACE'])

/** The largest body for a provider that signs requests, because a signature needs the whole body: bytes. */
const MOST_SIGNED = 32 * 1024 * 1024

const WITHOUT_BODY = new Set([204, 205, 304])

/** Passes a request on and its answer back. Throws the gateway's own refusals. */
export async function handOn(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // Before anything is counted: an invalid request counts for nobody.
  const request = proxiedRequest(route, key, exchange, snapshot)
  const { binding, input } = request
  refuseEarly(route, key, snapshot)
  if (snapshot.store) noteLabels(route, input, exchange, snapshot)
  request.lease = await limit(route, input, key, undefined, exchange, snapshot)
  request.hold = await fundRequest(route, binding, key, exchange, snapshot)
  const { attempt, response } = await failover(request, [binding], async attempt => ({ attempt, response: await asked(attempt) }))
  exchange.log.usage = { request: 1 }
  // A refused request costs nothing.
  if (response.status >= 400) exchange.log.price = undefined
  return answered(response, attempt)
}

/** The request as it would be passed on. Throws if the key may not, or if the path leads elsewhere. */
export function proxiedRequest(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): Attempt {
  const proxy = route.proxy as ReverseProxy
  const { binding } = proxy
  mayUse(key, proxy, route)
  if (NEVER.has(exchange.method)) throw new GatewayError('method_not_allowed', `${exchange.method} is not passed on.`)
  pathOf(proxy, exchange)
  const limits = binding.target.limits ? { ...route.limits, ...binding.target.limits } : route.limits
  const choice = { bindings: [binding] }
  return {
    route,
    input: withoutBody(),
    choice,
    exchange,
    snapshot,
    lease: undefined,
    hold: undefined,
    binding,
    limits,
    targetLease: undefined,
  }
}

/** A key restricted to models could reach other models through the proxy, so it needs explicit permission. */
function mayUse(key: Key | undefined, { groups }: ReverseProxy, { name }: Route): void {
  if (key === undefined) return
  if (!key.groups.some(group => groups.has(group)) || (key.models !== undefined && key.routes === undefined))
    throw new GatewayError('permission', `This API key may not use '${name}'.`)
}

async function asked(attempt: Attempt): Promise<UpstreamResponse> {
  const { binding, limits, exchange } = attempt
  const request = requestOf(attempt)
  const body = await bodyOf(binding, limits, exchange)
  if (body !== undefined) request.body = body
  const response = await call(signed(request, binding), limits, exchange)
  // A complaint about the gateway's key, or from a proxy before the upstream, is not for the caller.
  if (response.status !== PROXY_REFUSES && (response.status !== 401 || binding.target.isCallers)) return response
  response.release()
  throw errorFrom(undefined, response.status, binding, response)
}

/** The upstream request without its body. */
export function requestOf(attempt: Attempt): UpstreamRequest {
  const { binding, exchange, route } = attempt
  const proxy = route.proxy as ReverseProxy
  return {
    dispatcher: binding.pool,
    origin: binding.origin,
    method: exchange.method,
    path: pathOf(proxy, exchange),
    headers: headersOf(attempt, proxy),
    name: binding.target.name,
    idHeader: binding.to.error.requestIdHeader,
  }
}

function bodyOf(binding: Binding, limits: Limits, exchange: Exchange): UpstreamRequest['body'] | Promise<Buffer> {
  const { 'content-length': length, 'transfer-encoding': coding } = exchange.headers
  if (coding === undefined && (length === undefined || Number(length) === 0)) return undefined
  if (binding.signer) return exchange.body({ ...limits, body: Math.min(limits.body, MOST_SIGNED) })
  return uploadOf(exchange, limits)
}

/** The path and query at the upstream. Throws if the path leads, or could lead, outside of the prefix. */
function pathOf({ prefix, to, dropsQuery, query }: ReverseProxy, exchange: Exchange): string {
  const rest = exchange.path.slice(prefix.length)
  if (!isPlain(rest))
    throw new GatewayError('invalid_request', 'This path is not passed on: a segment of it is not a plain name.', {
      code: 'invalid_path',
    })
  return (to + rest || '/') + queryOf(exchange.queryText ?? '', dropsQuery, query)
}

/** Whether each segment is surely one name, however often a server behind the gateway decodes it. */
function isPlain(rest: string): boolean {
  if (!/^[\x21\x22\x24-\x7e]*$/.test(rest)) return false
  let text = rest
  for (let round = 0; round < MOST_DECODED; round++) {
    if (/[\\\0-\x1f\x7f]|(?:^|\/)\.{1,2}(?:[/;]|$)/.test(text)) return false
    if (!/%[0-9a-f]{2}/i.test(text)) return true
    // An encoded slash or backslash: some servers take both for a slash.
    if (/%(?:2f|5c)/i.test(text)) return false
    const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    text = decoded
  }
  return false
}

const MOST_DECODED = 5

function queryOf(text: string, drops: ReadonlySet<string>, added: string | undefined): string {
  const parts = text === '' ? [] : text.split('&').filter(part => !drops.has(nameOf(part)))
  if (added !== undefined) parts.push(added)
  const query = parts.join('&').replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent)
  return query === '' ? '' : `?${query}`
}

function nameOf(part: string): string {
  return new URLSearchParams(part).keys().next().value ?? ''
}

function headersOf(attempt: Attempt, { dropsHeader, fixed, usual }: ReverseProxy): string[] {
  const { binding, exchange } = attempt
  const { headers: said } = exchange
  const named = new Set(
    said.connection
      ?.toLowerCase()
      .split(',')
      .map(name => name.trim()),
  )
  const headers: Record<string, string> = Object.fromEntries(usual)
  for (const name in said) if (!dropsHeader(name) && !named.has(name)) headers[name] = passedOn(name, said[name] as string)
  const length = said['content-length']
  if (length !== undefined && length !== '0' && said['transfer-encoding'] === undefined && !binding.signer)
    headers['content-length'] = length
  headers['x-request-id'] = exchange.id
  for (const [name, value] of fixed) headers[name] = value
  if (binding.token) headers[binding.token.header.toLowerCase()] = binding.token.value()
  if (binding.target.isCallers) {
    const { header, value } = callersCredential(attempt)
    headers[header] = value
  }
  return Object.entries(headers).flat()
}

function answered(response: UpstreamResponse, attempt: Attempt): Promise<void> | undefined {
  const { exchange } = attempt
  const named = new Set(
    response
      .headersThat(name => name === 'connection')
      .connection?.toLowerCase()
      .split(',')
      .map(name => name.trim()),
  )
  const headers = response.headersThat(name => !STAYS.test(name) && !named.has(name))
  if (exchange.log.told) Object.assign(headers, exchange.log.told)
  if (exchange.method !== 'HEAD' && !WITHOUT_BODY.has(response.status)) return passBytes(response, headers, attempt)
  const length = response.header('content-length')
  if (exchange.method === 'HEAD' && length !== undefined) headers['content-length'] = length
  response.release()
  attempt.binding.target.health.succeed()
  exchange.send(response.status, headers, '')
  return undefined
}
