// The tables of the store, as queries see them. One schema for both engines: texts, whole numbers, and JSON as text.
// Times are milliseconds since 1970, money is in nano-units of the currency, and texts in `name` are referred to by their ids.

import type { Generated } from 'kysely'

interface NameTable {
  id: Generated<number>
  kind: string
  text: string
  /** The day on which it was last used: days since 1970. Kept for names of callers only. */
  last: number
}

/** Keys. Their permissions are immutable texts: a change writes the whole row, with the next `version`. */
export interface KeyTable {
  id: Generated<number>
  public_id: string
  name: string
  team: string | null
  groups: string
  models: string | null
  routes: string | null
  ips: string | null
  tags: string
  expires_at: number | null
  /** Its own limits, as JSON in the written form. */
  limits: string | null
  /** A JSON list of budgets in the engine's form. */
  budgets: string | null
  state: 'active' | 'disabled' | 'revoked'
  created_by: string
  created_at: number
  last_used_at: number | null
  version: number
}

/** The common limits of a team's keys. `limits` and `budgets` are JSON. */
export interface TeamTable {
  id: Generated<number>
  public_id: string
  name: string
  note: string | null
  limits: string | null
  budgets: string | null
  state: 'active' | 'disabled'
  created_by: string
  created_at: number
  version: number
}

/** The secrets of a key, as SHA-256 in hexadecimal digits. A rotated one ends at `expires_at`. */
interface KeySecretTable {
  sha256: string
  key_id: number
  last4: string
  created_at: number
  expires_at: number | null
}

/** Changes, in the order in which they became visible. */
interface ChangeTable {
  seq: Generated<number>
  at: number
  kind: string
  subject_id: number
  /** 1 if exchanges under way with the subject must end. */
  is_now: number
}

export interface LedgerTable {
  /** 32 hexadecimal digits, the first 12 of which are the time: also the id of the request that the client saw. */
  id: string
  at: number
  key: number | null
  team: number | null
  grp: number | null
  end_user: number | null
  session: number | null
  tags: number | null
  model: number | null
  target: number | null
  route: number | null
  dialect: number | null
  upstream_dialect: number | null
  error: number | null
  price_set: number | null
  status: number
  ended: number
  flags: number
  input: number | null
  output: number | null
  cached: number | null
  cache_write: number | null
  reasoning: number | null
  cost: number | null
  charge: number | null
  attempts: number
  first_token_ms: number | null
  total_ms: number
  bytes_in: number
  bytes_out: number
  /** The accounts that it counts in: a name that is a JSON list. */
  purse: number | null
  /** The facts that its price depended on: names; `facts` is a JSON text. */
  region: number | null
  facts: number | null
  /** Amounts of rare meters; null for none. Seconds may be fractions. */
  cache_write_1h: number | null
  audio_input: number | null
  image_input: number | null
  audio_output: number | null
  image_output: number | null
  image: number | null
  second: number | null
  character: number | null
  search: number | null
  page: number | null
  tool_call: number | null
  request: number | null
}

/** A budget in one window: `key:demo/day@2026-11-22T00:00Z`. `out` is the sum of the grants of its shares. */
export interface AccountTable {
  id: string
  /** Its limit, as last reported. */
  most: number
  out: number
  /** The sum of the charges of the rows that count in it. */
  spent: number
  /** When its window ends; null for never. */
  until: number | null
  /** When it was last used. */
  at: number
}

/** A worker's grant from an account, and the part of it that rows have spent. `granted` is never less than `spent`. */
export interface ShareTable {
  account: string
  holder: string
  instance: number
  granted: number
  spent: number
  /** The last question of the holder that was answered: an overtaken one changes nothing. */
  version: number
}

interface DetailTable {
  ledger_id: string
  /** JSON: why it failed, which targets failed before, what was dropped. */
  detail: string
}

/** Exchanges under way for more than a second. */
interface OpenTable {
  id: string
  instance: number
  worker: string
  at: number
  /** The row as it would be written if the worker died now: JSON. */
  row: string
}

/** The sums of every rollup. */
export interface Sums {
  n: number
  failures: number
  partial: number
  input: number
  output: number
  cached: number
  cache_write: number
  reasoning: number
  cost: number
  charge: number
  unpriced: number
  ms_sum: number
}

interface HourModelTable extends Sums {
  hour: number
  model: number
  target: number
  part: number
}

interface HourTable extends Sums {
  hour: number
  key: number
  model: number
  target: number
  part: number
}

interface DayModelTable extends Sums {
  day: number
  grp: number
  model: number
  target: number
  part: number
}

interface DayUserTable extends Sums {
  day: number
  end_user: number
  part: number
}

interface DayTeamTable extends Sums {
  day: number
  team: number
  grp: number
  model: number
  target: number
  route: number
  region: number
  part: number
}

interface DayTagsTable extends Sums {
  day: number
  tags: number
  model: number
  target: number
  part: number
}

interface DayKeyTable extends Sums {
  day: number
  key: number
  team: number
  grp: number
  part: number
}

interface DayAllTable extends Sums {
  day: number
  key: number
  team: number
  grp: number
  model: number
  target: number
  route: number
  tags: number
  region: number
  part: number
}

export interface AuditTable {
  seq: number
  at: number
  actor: string
  via: string
  operation: string
  subject: string
  before: string | null
  after: string | null
  previous_hash: string
  hash: string
}

export interface TokenTable {
  id: Generated<number>
  name: string
  role: string
  sha256: string
  last4: string
  created_at: number
  expires_at: number | null
  state: 'active' | 'revoked'
  /** The teams or keys that its role is bound to, as JSON. */
  bound: string | null
}

/** Answers that are kept for the key that made them. Their content is sealed; `size` is its length. */
export interface KeptTable {
  id: string
  caller: string
  /** The kept answer that its request continued. */
  previous: string | null
  created_at: number
  expires_at: number
  size: number
  sealed: string
}

interface KeptItemTable {
  caller: string
  item_id: string
  kept_id: string
}

/** The instances on this store: `part` separates the rollup rows of each. */
interface InstanceTable {
  id: Generated<number>
  public_id: string
  host: string
  started_at: number
  seen_at: number
  config_hash: string | null
}

export interface Tables {
  name: NameTable
  key: KeyTable
  key_secret: KeySecretTable
  team: TeamTable
  change: ChangeTable
  ledger: LedgerTable
  detail: DetailTable
  account: AccountTable
  share: ShareTable
  open: OpenTable
  hour_model: HourModelTable
  hour: HourTable
  day_model: DayModelTable
  day_user: DayUserTable
  day_team: DayTeamTable
  day_tags: DayTagsTable
  day_key: DayKeyTable
  day_all: DayAllTable
  audit: AuditTable
  token: TokenTable
  instance: InstanceTable
  kept: KeptTable
  kept_item: KeptItemTable
}
