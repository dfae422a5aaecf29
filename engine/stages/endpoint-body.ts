// What a provider's endpoint makes of a request in its dialect, beside the members at its top: its own patch, and the
// members inside of others that it refuses.

import { withoutMember } from '../core/members.js'
import type { Body, Endpoint, Json } from '../plan.js'

/**
 * The request that the endpoint gets; undefined if it is the same. `body` may be an outline: only if the endpoint changes
 * that, `whole` is called for the body itself. Throws if the endpoint's patch fails.
 */
export function endpointBody({ request, dropInside = [] }: Endpoint, body: Body, whole: () => Body): Body | undefined {
  const changed = (given: Body): Body => {
    const patched = (request?.(given) as Body | undefined) ?? given
    return dropInside.reduce<Json>((held, { path }) => withoutMember(held, path), patched) as Body
  }
  const first = changed(body)
  if (first === body) return undefined
  const all = whole()
  return all === body ? first : changed(all)
}
