// Budgets while cases are run: nothing is spent of any, so that a case does not depend on those before it, and nobody is asked.

import type { Treasury } from '../../engine/budgets/account.js'

/** Grants what is wanted up to the limit of the budget. */
export const untouched: Treasury = {
  async grant({ limit, wanted }) {
    const granted = Math.min(wanted, limit)
    return { granted, before: 0, left: limit - granted, held: 0 }
  },
}
