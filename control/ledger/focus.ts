// Costs in the columns of FOCUS, the FinOps Open Cost and Usage Specification 1.0 (https://focus.finops.org): a line for each
// day and combination of names, from a rollup, so that days whose rows have been deleted are in it, too.

import { sql } from 'kysely'
import { NANO } from '../../engine/core/usage.js'
import { DAY } from '../store/columns.js'
import type { Store } from '../store/store.js'
import { readList } from './lists.js'
import { type Range, textsOf } from './queries.js'

const NAMES = ['key', 'team', 'grp', 'model', 'target', 'route', 'tags', 'region'] as const
const SUMS = ['n', 'unpriced', 'input', 'output', 'cost', 'charge'] as const

type Names = Record<(typeof NAMES)[number], string | null>
type Sums = Record<(typeof SUMS)[number], number>

/** What a line is made of. `upstream` is the provider's account, as the configuration names it. */
interface Line extends Names, Sums {
  day: number
  upstream: string | null
  currency: string
}

const time = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')
const month = (day: number, more: number): string => {
  const date = new Date(day * DAY)
  return time(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more))
}
/** An amount of money; empty if no exchange has a price, since a missing price is not 0. */
const money = (amount: number, { n, unpriced }: Line): number | null => (unpriced > 0 && unpriced === n ? null : amount / NANO)
const cost = (line: Line): number | null => money(line.cost, line)

/** The columns of the specification, and our own, which it wants to begin with `x_`. */
const COLUMNS: Readonly<Record<string, (line: Line) => string | number | null>> = {
  BilledCost: cost,
  BillingAccountId: ({ upstream }) => upstream,
  BillingAccountName: ({ upstream }) => upstream,
  BillingCurrency: ({ currency }) => currency,
  BillingPeriodStart: ({ day }) => month(day, 0),
  BillingPeriodEnd: ({ day }) => month(day, 1),
  ChargeCategory: () => 'Usage',
  ChargeClass: () => null,
  ChargeDescription: ({ model, target }) => [model, target].filter(Boolean).join(' at ') || null,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodStart: ({ day }) => time(day * DAY),
  ChargePeriodEnd: ({ day }) => time((day + 1) * DAY),
  ConsumedQuantity: ({ input, output }) => input + output,
  ConsumedUnit: () => 'Tokens',
  ContractedCost: cost,
  EffectiveCost: cost,
  InvoiceIssuerName: ({ upstream }) => upstream,
  // The ledger does not keep what an upstream's factor was applied to.
  ListCost: () => null,
  ProviderName: ({ upstream }) => upstream,
  PublisherName: ({ upstream }) => upstream,
  RegionId: ({ region }) => region,
  ResourceId: ({ target }) => target,
  ResourceName: ({ model }) => model,
  ResourceType: () => 'Model',
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: ({ route }) => route,
  SkuId: ({ target }) => target,
  SubAccountId: ({ team }) => team,
  SubAccountName: ({ team }) => team,
  Tags: ({ tags }) => (tags === null ? null : JSON.stringify(Object.fromEntries((readList(tags) as string[]).map(tag => [tag, true])))),
  x_Key: ({ key }) => key,
  x_Group: ({ grp }) => grp,
  x_Requests: ({ n }) => n,
  x_UnpricedRequests: ({ unpriced }) => unpriced,
  x_InputTokens: ({ input }) => input,
  x_OutputTokens: ({ output }) => output,
  x_Charge: line => money(line.charge, line),
}

export const FOCUS_COLUMNS: readonly string[] = Object.keys(COLUMNS)

/** The lines of a range of whole days, a day at a time, the oldest first. */
export async function* focusLines(store: Store, { from, to }: Range, currency: string): AsyncGenerator<Record<string, unknown>[]> {
  const [names, sums] = [NAMES.map(name => sql.ref(name)), SUMS.map(name => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`)]
  const { rows: days } = await sql<{ day: number }>`select distinct day from day_all
    where day >= ${Math.floor(from / DAY)} and day < ${Math.ceil(to / DAY)} order by day`.execute(store.db)
  for (const { day } of days) {
    const { rows } = await sql<Record<(typeof NAMES)[number], number> & Sums>`select ${sql.join([...names, ...sums])} from day_all
      where day = ${day} group by ${sql.join(names)} order by ${sql.join(names)}`.execute(store.db)
    const texts = await textsOf(
      store,
      rows.flatMap(row => NAMES.map(name => row[name])),
    )
    yield rows.map(row => {
      const named = Object.fromEntries(NAMES.map(name => [name, texts.get(row[name]) ?? null])) as Names
      const upstream = named.target?.split('/')[0] ?? null
      const line: Line = { ...row, ...named, day, upstream, currency }
      return Object.fromEntries(Object.entries(COLUMNS).map(([name, of]) => [name, of(line)]))
    })
  }
}
