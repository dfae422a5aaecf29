// Short-lived credentials made from a secret: JSON Web Tokens, signed with the secret's second part.

import { createHmac } from 'node:crypto'
import type { Credential } from '../plan.js'

export interface Token {
  header: string
  /** The header's value, renewed well before it expires. */
  value(): string
}

/** Seconds by which a provider's clock may be behind. */
const SKEW = 30

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Undefined if the credential is the secret itself. The secret is `id:key`. */
export function tokenOf(credential: Credential, secret: string): Token | undefined {
  const { header, jwt, prefix = '' } = credential
  if (jwt === undefined || header === undefined) return undefined
  const at = secret.indexOf(':')
  const id = secret.slice(0, Math.max(at, 0))
  const key = secret.slice(at + 1)
  const lifetime = Math.floor(jwt.lifetime / 1000)
  let text = ''
  let until = 0
  return {
    header: header.toLowerCase(),
    value() {
      const time = Math.floor(Date.now() / 1000)
      if (time >= until) {
        const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: id, nbf: time - SKEW, exp: time + lifetime })}`
        text = `${prefix}${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
        until = time + Math.ceil(lifetime / 2)
      }
      return text
    },
  }
}
