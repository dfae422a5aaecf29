// Sums of exchanges from the admin API.

import { askAll, type Query, type Where } from './client.js'

/** The most rows in a page: each page is summed up anew. */
const MOST_ROWS = 10_000

export type UsageRow = Record<string, number | string | null>

interface UsagePage {
  currency: string
  rows: UsageRow[]
  next: string | null
}

/** All rows of a range. */
export const askUsage = (where: Where, values: Query): Promise<{ first: UsagePage; items: UsageRow[] }> =>
  askAll(where, '/usage', { ...values, limit: MOST_ROWS }, (page: UsagePage) => page.rows)
