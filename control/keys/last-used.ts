// When keys were last used, written down now and then: a row that changed with every exchange would cost more than it tells.

import type { ExchangeRecord } from '../ledger/record.js'
import type { Store } from '../store/store.js'

/** How many keys are noted between two writes, at most; those beyond are noted the next time they are used. */
const MOST = 10_000

export class LastUsed {
  private noted = new Map<string, number>()

  note(records: readonly ExchangeRecord[]): void {
    for (const { key, at } of records) if (key !== undefined && (this.noted.has(key) || this.noted.size < MOST)) this.noted.set(key, at)
  }

  /** Writes what was noted since the last time. Rejects where the store is away; it is noted again with the next use. */
  async write({ db }: Store): Promise<void> {
    const { noted } = this
    if (noted.size === 0) return
    this.noted = new Map()
    // Several instances in the same order, so that none waits for another that waits for it.
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
