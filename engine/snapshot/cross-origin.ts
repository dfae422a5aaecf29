// Pages of other origins: who of them may read what is answered here (Fetch, "CORS protocol"). Keys are sent in headers that a
// page has to set itself, never by the browser of its own accord, so no answer allows credentials.

import { asPattern } from '../core/text.js'

export interface CrossOriginConfig {
  /** `https://app.example`, with `*` for any characters of a name or a port, or `*` alone for any page. */
  origins: readonly string[]
  /** Milliseconds that a browser may remember a permission. */
  maxAge: number
}

type Headers = Readonly<Record<string, string>>

export interface CrossOrigin {
  /** What is added to every answer to this origin; nothing where there is none. */
  answer(origin: string | undefined): Headers
  /** The answer to a browser that asks whether a page may send a request; nothing where that is not asked, or it may not. */
  permission(method: string, headers: Headers, methods: readonly string[]): Headers | undefined
}

const ANY: Headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' }
const VARY: Headers = { vary: 'Origin' }

export function createCrossOrigin({ origins, maxAge }: CrossOriginConfig): CrossOrigin {
  const isAny = origins.includes('*')
  // A star is no way out of a name: neither past its end, nor to another scheme.
  const tests = origins.map(origin => new RegExp(`^${origin.split('*').map(asPattern).join('[a-z0-9.-]*')}$`))
  const isAllowed = (origin: string): boolean => isAny || tests.some(test => test.test(origin))
  const answer = (origin: string | undefined): Headers => {
    if (isAny) return origin === undefined ? {} : ANY
    // What is kept for one origin is none for another.
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
