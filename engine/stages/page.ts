// A public page, with the address that its reader used filled in.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Page } from '../snapshot/model.js'

/** A host name or address with an optional port: no character has a meaning in HTML, JSON or a shell. */
const IS_HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Throws `invalid_request` if the request has no valid host header. */
export async function sendPage(page: Page, exchange: Exchange): Promise<void> {
  const { headers } = exchange
  const copy = page.at(addressOf(headers))
  const common = { ...page.headers, etag: copy.etag, vary: 'accept-encoding, x-forwarded-proto' }
  if (isKnown(headers['if-none-match'], copy.etag)) return exchange.send(304, common, '')
  if (!takesGzip(headers['accept-encoding'])) return exchange.send(200, common, copy.body)
  exchange.send(200, { ...common, 'content-encoding': 'gzip' }, await copy.zipped())
}

/** The address that the client used; a proxy that ended TLS reports the scheme. */
function addressOf({ host = '', 'x-forwarded-proto': scheme }: Exchange['headers']): string {
  if (!IS_HOST.test(host)) throw new GatewayError('invalid_request', 'The Host header is not the address of a server.')
  return `${scheme === 'https' ? 'https' : 'http'}://${host}`
}

function isKnown(asked: string | undefined, etag: string): boolean {
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '')
  return asked !== undefined && (asked.trim() === '*' || asked.split(',').some(tag => bare(tag) === bare(etag)))
}

function takesGzip(accepted = ''): boolean {
  return accepted.split(',').some(one => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(one))
}
