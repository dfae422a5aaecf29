// CORS: which pages of other origins may read answers. Keys are sent in headers that a page sets itself, never by the
// browser on its own, so no answer allows credentials.

import { wildcard } from '../core/text.js'

export interface CrossOriginConfig {
  /** `https://app.example`, with `*` for any characters of a name or a port, or `*` alone for any page. */
  origins: readonly string[]
  /** Milliseconds that a browser may cache a permission. */
  maxAge: number
}

type Headers = Readonly<Record<string, string>>

export interface CrossOrigin {
  /** The headers of every answer to this origin; undefined if there are none. */
  answer(origin: string | undefined): Headers
  /** The answer to a preflight request; undefined if the request is none, or if the page may not send it. */
  permission(method: string, headers: Headers, methods: readonly string[]): Headers | undefined
}

const ANY: Headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' }
const VARY: Headers = { vary: 'Origin' }

/** The scheme, the host and the port of an origin, or of a pattern of origins. */
const ORIGIN = /^(https?:\/\/)([a-z0-9.*-]+)(:[0-9*]+)?$/

function partsOf(origin: string): string[] | undefined {
  return ORIGIN.exec(origin)
    ?.slice(1)
    .map((part = '') => part)
}

/** A star must not match beyond the host name or port. Anyone may send an origin, so no RegExp has the stars: it would backtrack. */
function originTest(pattern: string): (origin: string) => boolean {
  const tests = partsOf(pattern)?.map(wildcard) ?? []
  return origin => partsOf(origin)?.every((part, index) => tests[index]?.(part) === true) === true
}

export function createCrossOrigin({ origins, maxAge }: CrossOriginConfig): CrossOrigin {
  const isAny = origins.includes('*')
  const tests = origins.map(originTest)
  const isAllowed = (origin: string): boolean => isAny || tests.some(test => test(origin))
  const answer = (origin: string | undefined): Headers => {
    if (isAny) return origin === undefined ? {} : ANY
    // A cached answer for one origin must not serve another.
    if (origin === undefined || !isAllowed(origin)) return VARY
    return { 'access-control-allow-origin': origin, 'access-control-expose-headers': '*', ...VARY }
  }
  return {
    answer,
    permission(method, headers, methods) {
      const { origin, 'access-control-request-method': wanted, 'access-control-request-headers': names } = headers
      if (method !== 'OPTIONS' || origin === undefined || wanted === undefined || !isAllowed(origin)) return undefined
      return {
        'access-control-allow-methods': methods.length === 0 ? wanted : methods.join(', '),
        ...(names !== undefined && { 'access-control-allow-headers': names }),
        'access-control-max-age': String(Math.floor(maxAge / 1000)),
      }
    },
  }
}
