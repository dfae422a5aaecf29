// The way in for who has an address of the admin API and no token yet: a link that is good once, for a while.

import { timingSafeEqual } from 'node:crypto'
import { newCode, sha256Of } from '../keys/secret.js'
import type { Store } from '../store/store.js'

/** Milliseconds. */
const GOOD = 10 * 60_000

export class FirstToken {
  private sha256: Buffer | undefined
  private until = 0

  /** A code where nobody has a token yet; it is in memory alone. */
  async offer({ db }: Store): Promise<string | undefined> {
    const known = await db.selectFrom('token').select('id').limit(1).executeTakeFirst()
    if (known !== undefined) return undefined
    const code = newCode()
    this.sha256 = Buffer.from(sha256Of(code))
    this.until = Date.now() + GOOD
    return code
  }

  /** Whether a code is the one that was offered; it is not good again. */
  take(code: string): boolean {
    const { sha256 } = this
    if (sha256 === undefined || Date.now() > this.until || !timingSafeEqual(sha256, Buffer.from(sha256Of(code)))) return false
    this.sha256 = undefined
    return true
  }
}
