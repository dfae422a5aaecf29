// Imports keys of other gateways, from a dump of their table: as CSV with a header, or as a JSON list. What a key may do
// there and cannot be said here is told, and never becomes a permission.

import { createHash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { nearest } from '../../codegen/read/suggest.js'
import type { ImportedKey, KeyFields } from '../../control/keys/keys.js'
import type { WrittenLimits } from '../../control/limits.js'
import type { Every } from '../../engine/budgets/window.js'
import { jsonOr } from '../json.js'
import { CommandError } from './client.js'
import { instant } from './times.js'

export type Source = 'litellm' | 'new-api' | 'csv'

export interface Dump {
  keys: ImportedKey[]
  /** What was not imported, and what it means: one sentence for each kind. */
  notes: string[]
}

type Row = Record<string, unknown>

/** What a reader says about a row: `note` about its key, `wrong` about a member that cannot be read. */
interface Report {
  note(text: string): void
  wrong(member: string, wanted: string): CommandError
}

/** Reads a dump. Throws a `CommandError` with the row if one has no key, or something that cannot be read. */
export function readDump(source: Source, text: string): Dump {
  const names = new Set<string>()
  const counts = new Map<string, number>()
  const keys = rowsOf(text).flatMap((row, index) => {
    const key = READERS[source](row, {
      note: said => counts.set(said, (counts.get(said) ?? 0) + 1),
      wrong: (member, wanted) => new CommandError(`Row ${index + 1}: ${member} is '${textOf(row[member])}', not ${wanted}.`),
    })
    if (key === undefined) return []
    if (!/^[0-9a-f]{64}$/.test(key.sha256)) throw new CommandError(`Row ${index + 1} has no key, and no SHA-256 of one.`)
    return [{ ...key, name: free(nameOf(key.name, index), names) }]
  })
  return { keys, notes: [...counts].map(([said, count]) => `${count} ${count === 1 ? 'key' : 'keys'}: ${said}`) }
}

function rowsOf(text: string): Row[] {
  const isJson = text.trimStart().startsWith('[')
  try {
    return isJson
      ? (JSON.parse(text) as Row[])
      : (parse(text, { columns: true, skip_empty_lines: true, bom: true, relax_column_count: true }) as Row[])
  } catch (error) {
    throw new CommandError(`The file is no ${isJson ? 'JSON list' : 'CSV with a header'}: ${(error as Error).message}`)
  }
}

/** The columns of our own format. */
const COLUMNS: readonly string[] = ['name', 'key', 'sha256', 'team', 'groups', 'models', 'ips', 'tags', 'expires']

/** Columns of LiteLLM that limit nothing, or that the reader takes. */
const LITELLM = new Set(
  'token key_name key_alias spend expires models team_id blocked rpm_limit tpm_limit max_parallel_requests max_budget budget_duration allowed_routes metadata aliases config created_at created_by updated_at updated_by last_active budget_reset_at soft_budget_cooldown rotation_count auto_rotate last_rotation_at key_rotation_at rotation_interval'.split(
    ' ',
  ),
)

/** Points of new-api for a dollar: `QuotaPerUnit` of common/constants.go. */
const POINTS = 500_000

const READERS: Readonly<Record<Source, (row: Row, report: Report) => ImportedKey | undefined>> = {
  // Table LiteLLM_VerificationToken of BerriAI/litellm, schema.prisma: `token` is the SHA-256 of the key.
  litellm(row, report) {
    const token = textOf(row.token)
    const models = listOf(row.models)
    const team = wordOf(row.team_id)
    const isAny = models.includes('all-proxy-models')
    if (team !== null && !isAny && (models.length === 0 || models.includes('all-team-models')))
      report.note('the models of its team are not in this file; it may use all models until `keys set --model`')
    const routes = listOf(row.allowed_routes).filter(route => route !== 'llm_api_routes')
    if (routes.length > 0) report.note('disabled, because allowed_routes has no counterpart; see `keys set --route` and `--enable`')
    for (const [name, value] of Object.entries(row)) if (!LITELLM.has(name) && !isNothing(value)) report.note(`${name} is not imported`)
    return {
      name: textOf(row.key_alias) || textOf(row.key_name) || token.slice(0, 12),
      sha256: token.startsWith('sk-') ? sha256(token) : token,
      last4: textOf(row.key_name).slice(-4),
      team,
      models: models.length === 0 || isAny || models.includes('all-team-models') ? null : models,
      limits: minuteLimits(row.rpm_limit, row.tpm_limit, row.max_parallel_requests),
      budgets: litellmBudget(row, report),
      tags: tagsOf(row, report),
      expires_at: timeOf(row, 'expires', report),
      disabled: isTrue(row.blocked) || routes.length > 0,
    }
  },
  // Table tokens of Calcium-Ion/new-api, model/token.go: `key` without the `sk-` that callers send, status 1 is enabled,
  // expired_time in seconds or -1, models separated by commas, addresses by line breaks.
  'new-api'(row, report) {
    if (textOf(row.deleted_at) !== '') return undefined
    const key = textOf(row.key)
    const models = isTrue(row.model_limits_enabled) ? textOf(row.model_limits).split(',').filter(Boolean) : []
    const ips = textOf(row.allow_ips)
      .split(/[\s,]+/)
      .filter(Boolean)
    const expires = Number(textOf(row.expired_time) || -1)
    if (Number.isNaN(expires)) throw report.wrong('expired_time', 'a time in seconds or -1')
    const rest = textOf(row.remain_quota)
    const isLimited = rest !== '' && !isTrue(row.unlimited_quota)
    if (isLimited && Number.isNaN(Number(rest))) throw report.wrong('remain_quota', 'a number of points')
    if (isLimited) report.note('its quota is a budget for ever, of a dollar for 500,000 points')
    return {
      name: textOf(row.name),
      sha256: sha256(key.startsWith('sk-') ? key : `sk-${key}`),
      last4: key.slice(-4),
      ...(textOf(row.group) !== '' && { groups: [textOf(row.group)] }),
      models: models.length === 0 ? null : models,
      ips: ips.length === 0 ? null : ips,
      budgets: isLimited ? budgetsOf(Math.max(0, Number(rest)) / POINTS, 'ever') : null,
      expires_at: expires > 0 ? expires * 1000 : null,
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
  return `There is no column ${name}${near === undefined ? '' : `: did you mean ${near}?`} The columns are ${COLUMNS.join(', ')}.`
}

/** A value as text; empty if there is none. Databases write NULL and \N for that. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value).trim()
  return text === 'NULL' || text === '\\N' ? '' : text
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex')
const isTrue = (value: unknown): boolean => /^(t|true|1)$/i.test(textOf(value))
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

/** Limits of a minute, and of requests under way; null if there are none. */
function minuteLimits(requests: unknown, tokens: unknown, inFlight: unknown): WrittenLimits | null {
  const [perMinute, tokensPerMinute, atOnce] = [requests, tokens, inFlight].map(value => Math.floor(Number(textOf(value)))) as [
    number,
    number,
    number,
  ]
  const limits: WrittenLimits = {
    ...(perMinute > 0 && { requests: [`${perMinute}/1m`] }),
    ...(tokensPerMinute > 0 && { tokens: [`${tokensPerMinute}/1m`] }),
    ...(atOnce > 0 && { in_flight: atOnce }),
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
  const most = textOf(row.max_budget)
  if (most === '') return null
  if (!(Number(most) >= 0)) throw report.wrong('max_budget', 'an amount')
  const period = textOf(row.budget_duration)
  if (period === '') {
    report.note('what is left of its budget is a budget for ever')
    return budgetsOf(Math.max(0, Number(most) - Number(textOf(row.spend) || 0)), 'ever')
  }
  const [, count, unit] = /^(\d+)(s|mo|m|h|d|w)$/.exec(period) ?? []
  if (count === undefined) throw report.wrong('budget_duration', 'a time such as 30d')
  const seconds = Number(count) * (SECONDS[unit as string] as number)
  // A longer window permits less.
  const [every, length] = WINDOWS.find(([, longest]) => seconds <= longest) ?? ['ever' as const, 0]
  if (length !== seconds && period !== '30d' && period !== '1mo') report.note(`its budget for ${period} is one for each ${every} here`)
  report.note('its budget begins anew; what it has spent is not imported')
  return budgetsOf(Number(most), every)
}

function budgetsOf(amount: number, every: Every): KeyFields['budgets'] {
  return [{ limit: `${amount.toFixed(9).replace(/\.?0+$/, '')}/${every}` }]
}

/** The tags in `metadata` of LiteLLM. */
function tagsOf({ metadata }: Row, report: Report): string[] {
  const whole = (typeof metadata === 'string' ? jsonOr(metadata, {}) : (metadata ?? {})) as Row
  const all = Array.isArray(whole.tags) ? whole.tags.map(textOf) : []
  const tags = [...new Set(all)].filter(tag => /^[^\s,\p{Cc}]{1,64}$/u.test(tag)).slice(0, 32)
  if (tags.length < all.length) report.note('some of its tags are not imported, because they have blanks or commas, or are too many')
  return tags
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
