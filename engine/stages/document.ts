// Routes whose answer is a document about the gateway; the program that starts the gateway makes it.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Route, Snapshot } from '../snapshot/model.js'
import { notFound } from '../snapshot/near-path.js'

/** Pages load only their own content, nothing from elsewhere. */
const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

/** Throws `not_found` if this gateway has no documents, and `unavailable` if this one cannot be made. */
export async function tellDocument(route: Route, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const make = snapshot.documents?.[route.document as string]
  if (make === undefined) throw notFound(exchange, snapshot)
  const { type, body } = await make().catch(() => {
    throw new GatewayError('unavailable', 'The document cannot be made at the moment.')
  })
  exchange.send(200, { 'content-type': type, 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' }, body)
}
