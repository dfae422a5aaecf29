// The currency of a store: that of its first start. Its amounts are numbers without a unit, and nothing converts them.

import type { Store } from './store.js'
import { UnfitStore } from './unfit.js'

/** The currency of the amounts in a store; undefined before its first start. */
export async function currencyOf({ db }: Store): Promise<string | undefined> {
  const row = await db.selectFrom('name').select('text').where('kind', '=', 'currency').orderBy('id').executeTakeFirst()
  return row?.text
}

/** Sets the currency of a store at its first start. Throws an `UnfitStore` if its amounts are in another one. */
export async function claimCurrency(store: Store, currency: string): Promise<void> {
  const own = await currencyOf(store)
  if (own === undefined) await store.names.idsOf(['currency'], [currency])
  else if (own !== currency)
    throw new UnfitStore(
      `The store's amounts are in ${own}, and \`currency\` is ${currency}. Amounts are not converted: write \`currency: ${own}\`, or use another store.`,
    )
}
