// Sends a request to a binding's upstream, signed if the provider requires it; turns a refusal into an error.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { ErrorRead, Limits } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import type { Signer } from '../snapshot/signer.js'
import { call, collect, type UpstreamRequest, type UpstreamResponse } from './call.js'
import { errorFrom } from './refusal.js'

const ERROR_BODY_LIMIT = 1024 * 1024

/**
 * The head of an upstream's answer. The caller checks for a refusal with `refusalIn`: a second promise would cost each
 * request.
 */
export function ask(binding: Binding, request: UpstreamRequest, limits: Limits, exchange: Exchange): Promise<UpstreamResponse> {
  return call(binding.signer ? sign(request, binding.signer, binding) : request, limits, exchange)
}

/**
 * The error for a refusal; undefined if the upstream did not refuse. Redirects are not followed, and count as refusals.
 * @param hides a credential of the caller, which is removed from the upstream's message
 */
export function refusalIn(response: UpstreamResponse, binding: Binding, hides?: string): Promise<GatewayError> | undefined {
  const { status } = response
  if (status < 300 || (binding.to.response === 'bytes' && (status === 304 || status === 416))) return undefined
  return refusalOf(response, binding, hides)
}

function sign(request: UpstreamRequest, signer: Signer, binding: Binding): UpstreamRequest {
  const { body, ...rest } = request
  if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new GatewayError(
      'not_implemented',
      'The provider of this model requires a signature, which is not possible for a body that is still arriving.',
    )
  const headers = signer({ ...rest, ...(body !== undefined && { body }) }, binding.target.host, Date.now())
  return { ...request, headers: [...request.headers, ...headers] }
}

async function refusalOf(response: UpstreamResponse, binding: Binding, hides: string | undefined): Promise<GatewayError> {
  const bytes = await collect(response, ERROR_BODY_LIMIT).catch(() => undefined)
  let read: ErrorRead | undefined
  try {
    const text = bytes?.toString('utf8') ?? ''
    read = binding.to.error.read(JSON.parse(hides === undefined ? text : text.replaceAll(hides, '***')), response.status)
  } catch {
    // The body is not JSON: a proxy's page, or nothing. The status says enough.
  }
  return errorFrom(read, response.status, binding, response)
}
