// Imports keys of other gateways, from a dump of their table: as CSV with a header, or as a JSON list. What a key may do
// there and cannot be said here is told, and never becomes a permission.

import { createHash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { nearest } from '../../codegen/read/suggest.js'
import type { ImportedKey, KeyFields } from '../../control/keys/keys.js'
import type { WrittenLimits } from '../../control/limits.js'
import type { Every } from '../../engine/budgets/window.js'
import { LATEST } from '../../engine/core/durations.js'
import { isObject } from '../../engine/core/members.js'
import { HIGHEST } from '../../engine/core/usage.js'
import { jsonOr } from '../../engine/wire/json/parse.js'
import { CommandError } from '../output.js'
import { instant } from '../times.js'

export type Source = 'litellm' | 'new-api' | 'csv'

export interface Dump {
  keys: ImportedKey[]
  /** What was not imported, and what it means: one sentence for each kind. */
  notes: string[]
}

type Row = Record<string, unknown>

/** What a reader says about a row. */
interface Report {
  note(text: string): void
  /** A restriction that cannot be said here: the key is imported disabled, because without it the key could do more. */
  hold(because: string, remedy?: string): void
  /** The error about a member that cannot be read. */
  wrong(member: string, wanted: string): CommandError
}

/** Reads a dump. Throws a `CommandError` with the row if one has no key, or something that cannot be read. */
export function readDump(source: Source, text: string): Dump {
  const names = new Set<string>()
  const counts = new Map<string, number>()
  const keys = rowsOf(text).flatMap((row, index) => {
    const held: string[] = []
    const note = (said: string): void => void counts.set(said, (counts.get(said) ?? 0) + 1)
    const key = READERS[source](row, {
      note,
      hold(because, remedy) {
        held.push(because)
        note(`disabled, because ${because}; see ${remedy === undefined ? '' : `${remedy} and `}\`keys set --enable\``)
      },
      wrong: (member, wanted) => new CommandError(`Row ${index + 1}: ${member} is '${textOf(row[member])}', not ${wanted}.`),
    })
    if (key === undefined) return []
    if (!/^[0-9a-f]{64}$/.test(key.sha256)) throw new CommandError(`Row ${index + 1} has no key, and no SHA-256 of one.`)
    return [{ ...key, name: free(nameOf(key.name, index), names), ...(held.length > 0 && { disabled: true }) }]
  })
  return { keys, notes: [...counts].map(([said, count]) => `${count} ${count === 1 ? 'key' : 'keys'}: ${said}`) }
}

function rowsOf(file: string): Row[] {
  const rows = parsed(file.replace(/^\uFEFF/, ''))
  const index = rows.findIndex(row => !isObject(row))
  if (index >= 0) throw new CommandError(`Row ${index + 1} is no object.`)
  return rows as Row[]
}

function parsed(text: string): unknown[] {
  const isJson = text.trimStart().startsWith('[')
  try {
    // A row with another number of values is an error: a value that is missing may be a limit.
    return isJson ? (JSON.parse(text) as unknown[]) : parse(text, { columns: true, skip_empty_lines: true })
  } catch (error) {
    throw new CommandError(`The file is no ${isJson ? 'JSON list' : 'CSV with a header'}: ${(error as Error).message}`)
  }
}

/** The columns of our own format. */
const COLUMNS: readonly string[] = ['name', 'key', 'sha256', 'team', 'groups', 'models', 'ips', 'tags', 'expires']

/** The columns of a table: `known` ones limit nothing, or the reader takes them; `restricting` ones have no counterpart. */
interface Columns {
  known: ReadonlySet<string>
  restricting: ReadonlySet<string>
}

const columns = (known: string, restricting: string): Columns => ({
  known: new Set(known.split(' ')),
  restricting: new Set(restricting.split(' ')),
})

const LITELLM = columns(
  'token key_name key_alias spend expires models team_id blocked rpm_limit tpm_limit max_parallel_requests max_budget budget_duration allowed_routes metadata aliases config created_at created_by updated_at updated_by last_active budget_reset_at soft_budget_cooldown rotation_count auto_rotate last_rotation_at key_rotation_at rotation_interval',
  'model_max_budget budget_limits budget_id object_permission_id policies',
)

/** The members of its `metadata`, where LiteLLM keeps settings that have no column, beside what its operator writes there. */
const LITELLM_METADATA = columns(
  'tags',
  'model_rpm_limit model_tpm_limit guardrails policies prompts enforced_params enforced_batch_output_expires_after enforced_file_expires_after allowed_passthrough_routes allowed_vector_store_indexes end_user_budget_id',
)

/** The restricting ones are those of one-api, from which it comes. */
const NEW_API = columns(
  'id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota model_limits_enabled model_limits allow_ips used_quota group deleted_at',
  'models subnet',
)

/** Tells of the columns that have no counterpart; `where` says in what they are, if that is not the row. */
function tellRest(row: Row, { known, restricting }: Columns, report: Report, where = ''): void {
  for (const [name, value] of Object.entries(row)) {
    if (known.has(name) || isNothing(value)) continue
    if (restricting.has(name)) report.hold(`${name}${where} has no counterpart`)
    else report.note(`${name}${where} is not imported`)
  }
}

/** Points of new-api for a dollar: `QuotaPerUnit` of common/constants.go. */
const POINTS = 500_000

const READERS: Readonly<Record<Source, (row: Row, report: Report) => ImportedKey | undefined>> = {
  // Table LiteLLM_VerificationToken of BerriAI/litellm, schema.prisma: `token` is the SHA-256 of the key.
  litellm(row, report) {
    const token = textOf(row.token)
    const models = listOf(row.models)
    const team = wordOf(row.team_id)
    const isAny = models.includes('all-proxy-models')
    const isOfTeam = models.includes('all-team-models') || (team !== null && models.length === 0)
    if (isOfTeam && !isAny) report.hold('the models of its team are not in this file', '`keys set --model`')
    if (listOf(row.allowed_routes).some(route => route !== 'llm_api_routes')) report.hold('allowed_routes has no counterpart')
    tellRest(row, LITELLM, report)
    return {
      name: textOf(row.key_alias) || textOf(row.key_name) || token.slice(0, 12),
      sha256: token.startsWith('sk-') ? sha256(token) : token,
      last4: textOf(row.key_name).slice(-4),
      team,
      models: models.length === 0 || isAny || isOfTeam ? null : models,
      limits: litellmLimits(row, report),
      budgets: litellmBudget(row, report),
      tags: tagsIn(metadataOf(row, report), report),
      expires_at: timeOf(row, 'expires', report),
      disabled: flagOf(row, 'blocked', report),
    }
  },
  // Table tokens of Calcium-Ion/new-api, model/token.go: `key` without the `sk-` that callers send, status 1 is enabled,
  // expired_time in seconds or -1, models separated by commas, addresses by line breaks.
  'new-api'(row, report) {
    if (textOf(row.deleted_at) !== '') return undefined
    const key = textOf(row.key)
    const ips = textOf(row.allow_ips)
      .split(/[\s,]+/)
      .filter(Boolean)
    tellRest(row, NEW_API, report)
    return {
      name: textOf(row.name),
      sha256: sha256(key.startsWith('sk-') ? key : `sk-${key}`),
      last4: key.slice(-4),
      ...(textOf(row.group) !== '' && { groups: [textOf(row.group)] }),
      models: flagOf(row, 'model_limits_enabled', report) ? listOf(row.model_limits) : null,
      ips: ips.length === 0 ? null : ips,
      budgets: quotaOf(row, report),
      expires_at: secondsOf(row, report),
      disabled: Number(textOf(row.status) || 1) !== 1,
    }
  },
  // Our own format: name, and key or sha256; team, groups, models, ips, tags separated by blanks, and expires.
  csv(row, report) {
    for (const name of Object.keys(row)) if (!COLUMNS.includes(name)) throw new CommandError(unknownColumn(name))
    const key = textOf(row.key)
    const words = (value: unknown): string[] =>
      textOf(value)
        .split(/[\s;]+/)
        .filter(Boolean)
    const [groups, models, ips, tags] = [words(row.groups), words(row.models), words(row.ips), words(row.tags)]
    return {
      name: textOf(row.name),
      sha256: key === '' ? textOf(row.sha256).toLowerCase() : sha256(key),
      ...(key !== '' && { last4: key.slice(-4) }),
      team: wordOf(row.team),
      ...(groups.length > 0 && { groups }),
      models: models.length === 0 ? null : models,
      ips: ips.length === 0 ? null : ips,
      tags,
      expires_at: timeOf(row, 'expires', report),
    }
  },
}

function unknownColumn(name: string): string {
  const near = nearest(COLUMNS, name)
  return `There is no column ${name}${near === undefined ? '.' : `: did you mean ${near}?`} The columns are ${COLUMNS.join(', ')}.`
}

/** A value as text; empty if there is none. Databases write NULL and \N for that. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value).trim()
  return text === 'NULL' || text === '\\N' ? '' : text
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex')
const isNothing = (value: unknown): boolean => /^(|\{\}|\[\]|null|false|f|0)$/i.test(textOf(value))

/** A list in JSON, or as a database writes it into CSV: `{a,b}`. */
function listOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(textOf)
  return textOf(value)
    .replace(/^[{[]|[}\]]$/g, '')
    .split(',')
    .map(one => one.trim().replace(/^"|"$/g, ''))
    .filter(Boolean)
}

/** A value that is true or false; false if there is none. */
function flagOf(row: Row, member: string, report: Report): boolean {
  const text = textOf(row[member]).toLowerCase()
  if (!/^(|t|true|1|f|false|0)$/.test(text)) throw report.wrong(member, 'true or false')
  return /^(t|true|1)$/.test(text)
}

/** A number of 0 or more; undefined if there is none. */
function amountOf(row: Row, member: string, report: Report): number | undefined {
  const text = textOf(row[member])
  if (text === '') return undefined
  if (!(Number(text) >= 0)) throw report.wrong(member, 'an amount')
  return Number(text)
}

/** A whole number of 0 or more, which may be the most here; undefined if there is none. */
function countOf(row: Row, member: string, most: number, report: Report): number | undefined {
  const text = textOf(row[member])
  if (text === '') return undefined
  if (!/^\d+$/.test(text)) throw report.wrong(member, 'a whole number')
  return Math.min(Number(text), most)
}

/** The highest limits that the admin API takes. */
const MOST_A_MINUTE = 999_999_999_999
const MOST_IN_FLIGHT = 1_000_000

/** The limits of a key of LiteLLM; null if there are none. There, one of 0 permits nothing. */
function litellmLimits(row: Row, report: Report): WrittenLimits | null {
  const requests = countOf(row, 'rpm_limit', MOST_A_MINUTE, report)
  const tokens = countOf(row, 'tpm_limit', MOST_A_MINUTE, report)
  const inFlight = countOf(row, 'max_parallel_requests', MOST_IN_FLIGHT, report)
  if ([requests, tokens, inFlight].includes(0)) report.hold('a limit of 0 permits nothing', '`keys set --limit`')
  const limits: WrittenLimits = {
    ...(requests !== undefined && requests > 0 && { requests: [`${requests}/1m`] }),
    ...(tokens !== undefined && tokens > 0 && { tokens: [`${tokens}/1m`] }),
    ...(inFlight !== undefined && inFlight > 0 && { in_flight: inFlight }),
  }
  return Object.keys(limits).length === 0 ? null : limits
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, mo: 2_592_000 }
const WINDOWS: readonly [Every, seconds: number][] = [
  ['hour', SECONDS.h as number],
  ['day', SECONDS.d as number],
  ['week', SECONDS.w as number],
  ['month', 31 * (SECONDS.d as number)],
]

/** The budget of a key of LiteLLM: `max_budget` USD in each `budget_duration` (`24h`, `30d`, `1mo`), or at all. */
function litellmBudget(row: Row, report: Report): KeyFields['budgets'] {
  const most = amountOf(row, 'max_budget', report)
  if (most === undefined) return null
  const period = textOf(row.budget_duration)
  if (period === '') {
    report.note('what is left of its budget is a budget for ever')
    return budgetsOf(Math.max(0, most - (amountOf(row, 'spend', report) ?? 0)), 'ever', report)
  }
  const [, count, unit] = /^(\d+)(s|mo|m|h|d|w)$/.exec(period) ?? []
  if (count === undefined) throw report.wrong('budget_duration', 'a time such as 30d')
  const seconds = Number(count) * (SECONDS[unit as string] as number)
  // A longer window permits less.
  const [every, length] = WINDOWS.find(([, longest]) => seconds <= longest) ?? ['ever' as const, 0]
  if (length !== seconds && period !== '30d' && period !== '1mo') report.note(`its budget for ${period} is one for each ${every} here`)
  report.note('its budget begins anew; what it has spent is not imported')
  return budgetsOf(most, every, report)
}

/** The budget of a key of new-api: what is left of its quota. */
function quotaOf(row: Row, report: Report): KeyFields['budgets'] {
  const [rest, unlimited] = [textOf(row.remain_quota), textOf(row.unlimited_quota)]
  if (flagOf(row, 'unlimited_quota', report) || (rest === '' && unlimited === '')) return null
  if (rest === '' || Number.isNaN(Number(rest))) throw report.wrong('remain_quota', 'a number of points')
  report.note('its quota is a budget for ever, of a dollar for 500,000 points')
  return budgetsOf(Math.max(0, Number(rest)) / POINTS, 'ever', report)
}

function budgetsOf(amount: number, every: Every, report: Report): KeyFields['budgets'] {
  if (amount > HIGHEST) report.note(`its budget is ${HIGHEST}, the most that a budget can be`)
  const limit = Math.min(amount, HIGHEST)
  return [{ limit: `${limit.toFixed(9).replace(/\.?0+$/, '')}/${every}` }]
}

/** `metadata` of LiteLLM. */
function metadataOf(row: Row, report: Report): Row {
  const text = textOf(row.metadata)
  if (isNothing(text)) return {}
  const whole = jsonOr(text, undefined)
  if (!isObject(whole)) throw report.wrong('metadata', 'a JSON object')
  tellRest(whole, LITELLM_METADATA, report, ' in metadata')
  return whole
}

function tagsIn({ tags: given }: Row, report: Report): string[] {
  const all = Array.isArray(given) ? given.map(textOf) : []
  const tags = [...new Set(all)].filter(tag => /^[^\s,\p{Cc}]{1,64}$/u.test(tag)).slice(0, 32)
  if (tags.length < all.length) report.note('some of its tags are not imported, because they have blanks or commas, or are too many')
  return tags
}

/** The expiry of a key of new-api in milliseconds; null for -1, which is the only one that means never. */
function secondsOf(row: Row, report: Report): number | null {
  const text = textOf(row.expired_time)
  if (text === '' || text === '-1') return null
  const time = /^-?\d+$/.test(text) ? Number(text) * 1_000 : Number.NaN
  if (!(time <= LATEST)) throw report.wrong('expired_time', 'a time in seconds or -1')
  return Math.max(0, time)
}

function timeOf(row: Row, member: string, report: Report): number | null {
  const text = textOf(row[member])
  if (text === '' || text === 'never') return null
  const time = instant(text)
  if (time === undefined) throw report.wrong(member, 'a date such as 2027-01-31 or 2027-01-31T18:00:00Z')
  return time
}

/** The nearest valid name of ours. */
function wordOf(value: unknown): string | null {
  const word = textOf(value)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100)
  return word === '' ? null : word
}

const nameOf = (name: string, index: number): string => wordOf(name) ?? `imported-${index + 1}`

function free(name: string, names: Set<string>): string {
  let chosen = name
  for (let count = 2; names.has(chosen); count++) chosen = `${name}-${count}`
  names.add(chosen)
  return chosen
}
