// Signs a request for a provider that requires a signature.

import { GatewayError } from '../core/errors.js'
import type { Binding } from '../snapshot/model.js'
import type { UpstreamRequest } from './call.js'

/** The request as the provider takes it: with a signature if it requires one, which covers the whole body. */
export function signed(request: UpstreamRequest, { signer, target }: Binding): UpstreamRequest {
  if (signer === undefined) return request
  const { body, ...rest } = request
  if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new GatewayError(
      'not_implemented',
      'The provider of this model requires a signature, which is not possible for a body that is still arriving.',
    )
  const headers = signer({ ...rest, ...(body !== undefined && { body }) }, target.host, Date.now())
  return { ...request, headers: [...request.headers, ...headers] }
}
