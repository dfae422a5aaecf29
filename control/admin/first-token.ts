// Creates the first token of the admin API, for whoever has its address: with a link that works once, for a limited time.

import { timingSafeEqual } from 'node:crypto'
import { newCode, sha256Of } from '../keys/secret.js'
import type { Store } from '../store/store.js'
import { hasTokens } from './tokens.js'

/** Milliseconds. */
const LIFETIME = 10 * 60_000

export class FirstToken {
  private sha256: Buffer | undefined
  private until = 0

  /** A code, if no token exists yet; it is only kept in memory. */
  async offer({ db }: Store): Promise<string | undefined> {
    if (await hasTokens(db)) return undefined
    const code = newCode()
    this.sha256 = Buffer.from(sha256Of(code))
    this.until = Date.now() + LIFETIME
    return code
  }

  /** Whether a code is the offered one; it works only once. */
  take(code: string): boolean {
    const { sha256 } = this
    if (sha256 === undefined || Date.now() > this.until || !timingSafeEqual(sha256, Buffer.from(sha256Of(code)))) return false
    this.sha256 = undefined
    return true
  }
}
