// The caller's own credential for a provider: read where the route's keys stand, and sent to the one upstream that asks for it.

import { GatewayError } from '../core/errors.js'
import type { Credential } from '../plan.js'
import { presentedKey } from '../snapshot/presented-key.js'
import type { Attempt } from './attempt.js'

export interface CallersCredential {
  /** The header that it is sent in, and the header's value. */
  header: string
  value: string
  /** The credential itself. */
  text: string
}

/** Throws `authentication` where the caller has brought none: the gateway's own key is never taken for one. */
export function callersCredential({ binding, route, exchange, snapshot }: Attempt): CallersCredential {
  const { keyLocations } = snapshot.plan
  const { headers, query } = exchange
  const beside = route.auth.slice(0, route.beside)
  const key = presentedKey(beside, keyLocations, headers, query)
  for (const name of key === undefined ? [] : route.auth.slice(route.beside)) {
    const text = presentedKey([name], keyLocations, headers, query)
    if (text === undefined || text === key) continue
    const place = keyLocations[name]?.header
    // A provider of the caller's own dialect knows every place that its clients use.
    if (place !== undefined && !binding.mapping) return { header: place, value: headers[place] as string, text }
    const { header, prefix = '' } = binding.target.provider.credential as Credential & { header: string }
    return { header: header.toLowerCase(), value: prefix + text, text }
  }
  const places = beside.map(name => keyLocations[name]?.header).join(' or ')
  throw new GatewayError('authentication', `This model wants your own credential for its provider; the API key goes into ${places} then.`)
}
