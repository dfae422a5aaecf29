// Signed tokens of an identity provider in place of keys. The provider's public keys are fetched periodically; a request
// waits for a fetch only if it is signed with an unknown key.

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { LATEST } from '../core/durations.js'
import { GatewayError } from '../core/errors.js'
import { storable } from '../core/text.js'
import { linkKey } from '../snapshot/key.js'
import type { Key, KeySource } from '../snapshot/model.js'

export interface TokenOptions {
  issuer: string
  audience: readonly string[]
  /** The URL of the public keys. */
  jwks: string
  /** Claims, or paths of claims with dots. Undefined: every token is in the default group, and in no team. */
  groupsFrom?: string
  nameFrom: string
  teamFrom?: string
  /** Milliseconds. */
  refresh: number
}

/** The prefix of these callers' names; no key of a file or a store can have such a name. */
const PREFIX = 'jwt:'
/** Seconds by which clocks may differ. */
const TOLERANCE = 5
/** Verified tokens in the cache. */
const MOST = 10_000
/**
 * Milliseconds: how long a fetch may take, how long a request waits for it, and how soon another fetch may follow for an
 * unknown key.
 */
const PATIENCE = 5_000
const WAIT = 2_000
const COOLDOWN = 10_000
/** Milliseconds until a failed fetch is repeated. */
const AGAIN = 5_000
/** Bytes. */
const LARGEST = 1024 * 1024

const LOOKS_LIKE_ONE = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/

type KeySet = ReturnType<typeof createLocalJWKSet>

export class TokenKeys implements KeySource {
  private verified = new Map<string, Key>()
  private readonly verifying: JWTVerifyOptions
  private keySet: KeySet | undefined
  /** The published keys as text, to see whether they have changed. */
  private published = ''
  private isAway = true
  private fetching: Promise<void> | undefined
  private fetchedAt = 0
  private timer: NodeJS.Timeout | undefined
  private isClosed = false

  /** `report` receives the reason when the keys cannot be fetched, and is called again when they can. */
  constructor(
    readonly options: TokenOptions,
    private readonly report: (error: unknown) => void,
  ) {
    this.verifying = {
      issuer: options.issuer,
      audience: [...options.audience],
      clockTolerance: TOLERANCE,
      requiredClaims: ['exp'],
    }
    void this.refresh()
  }

  /** The caller of a token that was verified before and is still valid. */
  known(text: string): Key | undefined {
    const key = this.verified.get(text)
    if (key === undefined || (key.expires as number) > Date.now()) return key
    this.verified.delete(text)
    return undefined
  }

  /** Undefined if a text is not a token. Rejects if the token is invalid, or its key cannot be fetched. */
  find(text: string): Promise<Key> | undefined {
    return LOOKS_LIKE_ONE.test(text) ? this.verify(text) : undefined
  }

  private async verify(text: string): Promise<Key> {
    if (this.keySet === undefined) await this.refreshed()
    try {
      return await this.verifyNow(text)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusalOf(error)
      if (!this.isAway && Date.now() - this.fetchedAt < Math.min(COOLDOWN, this.options.refresh)) throw refusalOf(error)
      await this.refreshed()
      return await this.verifyNow(text).catch(again => {
        throw refusalOf(again)
      })
    }
  }

  /** Verifies a token with the keys that are published at the moment. */
  private async verifyNow(text: string): Promise<Key> {
    // Other keys have another cache: the one that signed this token may be removed meanwhile.
    const { verified } = this
    const key = this.keyOf(await this.payloadOf(text))
    if (verified.size >= MOST) verified.delete(verified.keys().next().value as string)
    verified.set(text, key)
    return key
  }

  private async payloadOf(text: string): Promise<JWTPayload> {
    try {
      return (await jwtVerify(text, this.keySet as KeySet, this.verifying)).payload
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // The token does not name its key, so several keys may fit.
      for await (const key of error) {
        try {
          return (await jwtVerify(text, key, this.verifying)).payload
        } catch (other) {
          if (!(other instanceof errors.JWSSignatureVerificationFailed)) throw other
        }
      }
      throw new errors.JWSSignatureVerificationFailed()
    }
  }

  private keyOf(payload: JWTPayload): Key {
    const { groupsFrom, nameFrom, teamFrom } = this.options
    const name = claimOf(payload, nameFrom)
    if (typeof name !== 'string' || name === '') throw new GatewayError('authentication', `The token has no claim "${nameFrom}".`)
    const named = groupsFrom === undefined ? 'default' : claimOf(payload, groupsFrom)
    const groups = (Array.isArray(named) ? named : [named]).filter(group => typeof group === 'string')
    const team = teamFrom === undefined ? undefined : claimOf(payload, teamFrom)
    // Replaced characters would make one caller of two.
    for (const [claim, value] of [
      [nameFrom, name],
      [teamFrom, team],
    ])
      if (typeof value === 'string' && storable(value) !== value)
        throw new GatewayError('authentication', `The claim "${claim}" of the token has control characters.`)
    return linkKey({
      name: PREFIX + name,
      sha256: '',
      groups,
      enabled: true,
      // A claim can be any number.
      expires: Math.min(((payload.exp as number) + TOLERANCE) * 1000, LATEST),
      ...(typeof team === 'string' && team !== '' && { team }),
    })
  }

  /** Waits briefly for the keys. Rejects with `unavailable` if they cannot be fetched. */
  private async refreshed(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(done => {
      timer = setTimeout(done, WAIT)
    })
    // Requests within a short time share one fetch.
    if (this.fetching || Date.now() - this.fetchedAt >= Math.min(AGAIN, this.options.refresh)) await Promise.race([this.refresh(), late])
    clearTimeout(timer)
    if (this.isAway)
      throw new GatewayError('unavailable', 'The keys that verify tokens cannot be fetched at the moment.', { retryAfter: '1' })
  }

  private refresh(): Promise<void> {
    this.fetching ??= this.fetchKeys().finally(() => {
      this.fetching = undefined
      this.fetchedAt = Date.now()
      clearTimeout(this.timer)
      if (this.isClosed) return
      this.timer = setTimeout(() => void this.refresh(), this.isAway ? Math.min(AGAIN, this.options.refresh) : this.options.refresh)
      this.timer.unref()
    })
    return this.fetching
  }

  private async fetchKeys(): Promise<void> {
    const wasAway = this.isAway
    try {
      const text = await published(this.options.jwks)
      if (text !== this.published) {
        this.keySet = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
        this.published = text
        // Tokens signed with a removed key are no longer valid.
        this.verified = new Map()
      }
      this.isAway = false
      if (wasAway) this.report(undefined)
    } catch (error) {
      if (!wasAway || this.fetchedAt === 0) this.report(error)
      this.isAway = true
    }
  }

  close(): void {
    this.isClosed = true
    clearTimeout(this.timer)
  }
}

async function published(address: string): Promise<string> {
  const response = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE),
    headers: { accept: 'application/json' },
  })
  if (!response.ok) throw new Error(`the address answered ${response.status}`)
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > LARGEST) throw new Error('the published key set is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** A claim by its name, else by its path. */
function claimOf(payload: JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path]
  let value: unknown = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function refusalOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof errors.JWTExpired) return new GatewayError('authentication', 'The token has expired.')
  if (error instanceof errors.JWTClaimValidationFailed)
    return new GatewayError('authentication', `The token is not valid: its claim "${error.claim}" does not have the required value.`)
  return new GatewayError('authentication', 'The token is not valid.')
}
