// When keys were last used, written periodically: updating a row with every exchange would cost too much.

import type { ExchangeRecord } from '../ledger/record.js'
import type { Store } from '../store/store.js'

/** Keys that are noted between two writes; further ones are noted the next time that they are used. */
const MOST = 10_000

export class LastUsed {
  private noted = new Map<string, number>()

  note(records: readonly ExchangeRecord[]): void {
    for (const { key, at } of records) if (key !== undefined && (this.noted.has(key) || this.noted.size < MOST)) this.noted.set(key, at)
  }

  /** Writes the notes since the last time. Rejects if the store is unreachable; the next use is noted again. */
  async write({ db }: Store): Promise<void> {
    const { noted } = this
    if (noted.size === 0) return
    this.noted = new Map()
    // Every instance locks in the same order, which prevents deadlocks.
    const sorted = [...noted].sort(([left], [right]) => (left < right ? -1 : 1))
    for (const [name, at] of sorted)
      await db
        .updateTable('key')
        .set({ last_used_at: at })
        .where('name', '=', name)
        .where(where => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
        .execute()
  }
}
