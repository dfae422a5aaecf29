// Keys that are not in the configuration file. One lookup serves all requests that wait for the same key, and the result is
// cached.

import { GatewayError } from '../core/errors.js'
import type { KeyConfig } from '../snapshot/config.js'
import { linkKey } from '../snapshot/key.js'
import type { Key } from '../snapshot/model.js'
import { isMistyped } from './key-form.js'

/** Looks up a key that is not in the file, and passes the answer to `found`. */
export type Lookup = (sha256: string) => Promise<Key | undefined>

export interface KeyCacheOptions {
  /** Keys in the cache. */
  size: number
  /** Milliseconds for which an unknown key stays unknown. */
  unknown: number
  /** Milliseconds for which cached keys stay valid while the store cannot be reached. */
  stale: number
}

interface Entry {
  key: Key
  text: string
  /** Whether it was used since removal last considered it. */
  isUsed: boolean
}

/** Lookups that may wait at once, and unknown keys in the cache. */
const MOST_WAITING = 10_000
const MOST_UNKNOWN = 100_000

/** Keys by their text; the least used ones are removed first. */
export class KeyCache {
  private readonly entries = new Map<string, Entry>()
  private readonly byId = new Map<number, Set<string>>()
  private readonly unknown = new Map<string, number>()
  /** The texts whose keys are being looked up, by their hashes. */
  private readonly waiting = new Map<string, { text: string; asked: Promise<Key | undefined> }>()
  /** When everything in the cache was last known to be current: milliseconds since 1970. */
  private certainAt = 0

  constructor(
    private readonly lookup: Lookup,
    private readonly options: KeyCacheOptions,
  ) {}

  get size(): number {
    return this.entries.size
  }

  /** A key that is in the cache. */
  known(text: string): Key | undefined {
    const entry = this.entries.get(text)
    if (entry === undefined || Date.now() - this.certainAt > this.options.stale) return undefined
    entry.isUsed = true
    return entry.key
  }

  /**
   * Looks a key up, once for all that wait for it. Rejects with `unavailable` if the store cannot be reached, and throws it if too many
   * keys are being looked up.
   */
  find(text: string, sha256: string): Promise<Key | undefined> | undefined {
    if (isMistyped(text)) return undefined
    const until = this.unknown.get(sha256)
    if (until !== undefined) {
      if (until > Date.now()) return undefined
      this.unknown.delete(sha256)
    }
    const pending = this.waiting.get(sha256)
    if (pending) return pending.asked
    if (this.waiting.size >= MOST_WAITING)
      throw new GatewayError('unavailable', 'Too many API keys are being looked up.', { retryAfter: '1' })
    const asked = this.ask(text, sha256).finally(() => this.waiting.delete(sha256))
    this.waiting.set(sha256, { text, asked })
    return asked
  }

  private async ask(text: string, sha256: string): Promise<Key | undefined> {
    const key = await this.lookup(sha256)
    // It may have changed since: the answer and the news of a change can arrive in one read.
    return key === undefined || this.entries.get(text)?.key === key ? key : this.lookup(sha256)
  }

  /** Puts the answer of a lookup into the cache, before anything that is heard later can make it obsolete. */
  found(sha256: string, config: KeyConfig | undefined): Key | undefined {
    if (config === undefined) {
      if (this.unknown.size >= MOST_UNKNOWN) this.unknown.delete(this.unknown.keys().next().value as string)
      this.unknown.set(sha256, Date.now() + this.options.unknown)
      return undefined
    }
    const key = linkKey(config)
    const text = this.waiting.get(sha256)?.text
    if (text !== undefined) this.remember(text, key)
    return key
  }

  private remember(text: string, key: Key): void {
    while (this.entries.size >= this.options.size) {
      const [oldest, entry] = this.entries.entries().next().value as [string, Entry]
      this.remove(oldest, entry)
      if (!entry.isUsed) continue
      entry.isUsed = false
      this.add(oldest, entry)
      // If every entry was used, this still ends: the next round finds the oldest unused.
    }
    this.add(text, { key, text, isUsed: false })
  }

  private add(text: string, entry: Entry): void {
    this.entries.set(text, entry)
    const id = entry.key.id as number
    const texts = this.byId.get(id)
    if (texts) texts.add(text)
    else this.byId.set(id, new Set([text]))
  }

  private remove(text: string, entry: Entry): void {
    this.entries.delete(text)
    const id = entry.key.id as number
    const texts = this.byId.get(id)
    texts?.delete(text)
    if (texts?.size === 0) this.byId.delete(id)
  }

  /** The cache agreed with the store at this time: milliseconds since 1970. */
  certain(time: number): void {
    this.certainAt = time
  }

  /** Removes keys that have changed, so that they are looked up again. */
  forget(ids: readonly number[], secrets: readonly string[]): void {
    for (const id of ids) for (const text of [...(this.byId.get(id) ?? [])]) this.remove(text, this.entries.get(text) as Entry)
    for (const sha256 of secrets) this.unknown.delete(sha256)
  }

  forgetAll(): void {
    this.entries.clear()
    this.byId.clear()
    this.unknown.clear()
  }
}
