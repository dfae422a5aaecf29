// Idempotent writes: an `Idempotency-Key` identifies a write, and a repetition of it gets the first answer.

import { sha256Of } from '../keys/secret.js'
import { Problem } from '../problem.js'

interface Done {
  /** The hash of the request. */
  hash: string
  at: number
  result: Promise<{ status: number; body: unknown }>
}

/**
 * Milliseconds for which a write is remembered, and how many are. An answer may contain a secret, so it is only kept in
 * memory.
 */
const REMEMBERED = 3_600_000
const MOST = 1_000

export class IdempotentWrites {
  private readonly done = new Map<string, Done>()

  /**
   * Runs a write, or returns the earlier answer. A failed write runs again. `asked` is the whole request, `name` the key
   * with its actor. Throws 422 if the same key was used for another request.
   */
  async once(
    name: string,
    asked: string,
    run: () => Promise<{ status: number; body: unknown }>,
  ): Promise<{ status: number; body: unknown; isRepeat: boolean }> {
    const now = Date.now()
    for (const [known, { at }] of this.done) {
      if (at > now - REMEMBERED && this.done.size < MOST) break
      this.done.delete(known)
    }
    const hash = sha256Of(asked)
    const before = this.done.get(name)
    if (before !== undefined) {
      if (before.hash !== hash) throw new Problem(422, 'idempotency_key', 'This Idempotency-Key was used for another request.')
      return { ...(await before.result), isRepeat: true }
    }
    const result = run()
    this.done.set(name, { hash, at: now, result })
    try {
      return { ...(await result), isRepeat: false }
    } catch (error) {
      this.done.delete(name)
      throw error
    }
  }
}
