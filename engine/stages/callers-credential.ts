// The caller's own credential for a provider: read from the locations of the route's keys, and sent only to the upstream that
// wants it.

import { GatewayError } from '../core/errors.js'
import type { Credential } from '../plan.js'
import { presentedKey } from '../snapshot/presented-key.js'
import { passedOn } from '../upstream/request-header.js'
import type { Attempt } from './attempt.js'

export interface CallersCredential {
  /** The name and value of the header that carries it. */
  header: string
  value: string
  /** The credential without the header's prefix. */
  text: string
}

/** Throws `authentication` if the caller sent none: the gateway's own key never takes its place. */
export function callersCredential({ binding, route, exchange, snapshot }: Attempt): CallersCredential {
  const { keyLocations } = snapshot.plan
  const { headers, query } = exchange
  const beside = route.auth.slice(0, route.beside)
  const key = presentedKey(beside, keyLocations, headers, query)
  for (const name of key === undefined ? [] : route.auth.slice(route.beside)) {
    const text = presentedKey([name], keyLocations, headers, query)
    if (text === undefined || text === key) continue
    const own = keyLocations[name]?.header
    // A provider of the caller's dialect accepts every header that its clients use.
    if (own !== undefined && !binding.mapping) return { header: own, value: passedOn(own, headers[own] as string), text }
    const { header, prefix = '' } = binding.target.provider.credential as Credential & { header: string }
    return { header: header.toLowerCase(), value: passedOn(header, prefix + text), text }
  }
  const names = beside.map(name => keyLocations[name]?.header).join(' or ')
  throw new GatewayError('authentication', `This model needs your own credential for its provider. Send the API key in ${names} then.`)
}
