// The columns of the ledger and of the rollups in their order, which writes of many rows use.

import { METERS } from '../../engine/core/meters.js'
import type { LedgerTable, Sums } from './tables.js'

/** `double` is for meters with fractions of a unit. */
export type Kind = 'text' | 'bigint' | 'double'

/** Columns of `ledger`, with their types. */
export const LEDGER: Readonly<Record<keyof LedgerTable, Kind>> = {
  id: 'text',
  at: 'bigint',
  key: 'bigint',
  team: 'bigint',
  grp: 'bigint',
  end_user: 'bigint',
  session: 'bigint',
  tags: 'bigint',
  model: 'bigint',
  target: 'bigint',
  route: 'bigint',
  dialect: 'bigint',
  upstream_dialect: 'bigint',
  error: 'bigint',
  price_set: 'bigint',
  status: 'bigint',
  ended: 'bigint',
  flags: 'bigint',
  input: 'bigint',
  output: 'bigint',
  cached: 'bigint',
  cache_write: 'bigint',
  reasoning: 'bigint',
  cost: 'bigint',
  charge: 'bigint',
  attempts: 'bigint',
  first_token_ms: 'bigint',
  total_ms: 'bigint',
  bytes_in: 'bigint',
  bytes_out: 'bigint',
  purse: 'bigint',
  region: 'bigint',
  facts: 'bigint',
  cache_write_1h: 'bigint',
  audio_input: 'bigint',
  image_input: 'bigint',
  audio_output: 'bigint',
  image_output: 'bigint',
  image: 'bigint',
  second: 'double',
  character: 'bigint',
  search: 'bigint',
  page: 'bigint',
  tool_call: 'bigint',
  request: 'bigint',
}

/** The sums of every rollup. `cost` and `charge` are those of the rows that have a price; the others are `unpriced`. */
export const SUMS: readonly (keyof Sums)[] = [
  'n',
  'failures',
  'partial',
  'input',
  'output',
  'cached',
  'cache_write',
  'reasoning',
  'cost',
  'charge',
  'unpriced',
  'ms_sum',
]

/**
 * The rollups and the columns that each is grouped by, those by day first, and of each unit the smallest first; 0 stands for a missing value. A query
 * reads the first one that has all of its names: see docs/decisions/0030-rollups-by-query.md.
 */
export const ROLLUPS = {
  day_model: ['day', 'grp', 'model', 'target', 'part'],
  day_user: ['day', 'end_user', 'part'],
  day_team: ['day', 'team', 'grp', 'model', 'target', 'route', 'region', 'part'],
  day_tags: ['day', 'tags', 'model', 'target', 'part'],
  day_key: ['day', 'key', 'team', 'grp', 'part'],
  day_all: ['day', 'key', 'team', 'grp', 'model', 'target', 'route', 'tags', 'region', 'part'],
  hour_model: ['hour', 'model', 'target', 'part'],
  hour: ['hour', 'key', 'model', 'target', 'part'],
} as const

export const HOUR = 3_600_000
export const DAY = 86_400_000

/** How an exchange ended, by the number in the column `ended`, which is that of a record (engine/control/records.ts). */
export const ENDED = ['ok', 'refused', 'failed', 'partial', 'aborted', 'lost'] as const
export type Ended = (typeof ENDED)[number]

/** Columns for meters that most exchanges do not use. */
export const RARE_METERS = [
  'cache_write_1h',
  'audio_input',
  'image_input',
  'audio_output',
  'image_output',
  'image',
  'second',
  'character',
  'search',
  'page',
  'tool_call',
  'request',
] as const satisfies readonly (keyof LedgerTable)[]

/** One of them has a value in each row that somebody may have to pay for: without a cost, it is unpriced. Others are parts of them. */
export const QUANTITIES = Object.keys(METERS).filter(
  name => METERS[name]?.parent === undefined && name !== 'request',
) as (keyof LedgerTable)[]
