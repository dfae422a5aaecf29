// Imports keys of other gateways, from a dump of their table: as CSV with a header, or as a JSON list. Of a key it takes
// the hash, name, expiry, models, addresses, limits, group and team, but not its spending.

import { createHash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import type { ImportedKey } from '../../control/keys/keys.js'
import type { WrittenLimits } from '../../control/limits.js'
import { CommandError } from './client.js'

export type Source = 'litellm' | 'new-api' | 'csv'

type Row = Record<string, unknown>

/** Reads a dump. Throws a `CommandError` with the row if one has no key. */
export function readDump(source: Source, text: string): ImportedKey[] {
  const rows = text.trimStart().startsWith('[')
    ? (JSON.parse(text) as Row[])
    : (parse(text, { columns: true, skip_empty_lines: true, bom: true, relax_column_count: true }) as Row[])
  const names = new Set<string>()
  return rows.flatMap((row, index) => {
    const key = READERS[source](row)
    if (key === undefined) return []
    if (!/^[0-9a-f]{64}$/.test(key.sha256)) throw new CommandError(`Row ${index + 1} has no key, and no SHA-256 of one.`)
    return [{ ...key, name: free(nameOf(key.name, index), names) }]
  })
}

const READERS: Readonly<Record<Source, (row: Row) => ImportedKey | undefined>> = {
  // Table LiteLLM_VerificationToken of BerriAI/litellm, schema.prisma: `token` is the SHA-256 of the key.
  litellm(row) {
    const token = text(row.token)
    const models = list(row.models)
    return {
      name: text(row.key_alias) || text(row.key_name) || token.slice(0, 12),
      sha256: token.startsWith('sk-') ? sha256(token) : token,
      last4: text(row.key_name).slice(-4),
      team: wordOf(row.team_id),
      models: models.length === 0 || models.includes('all-team-models') || models.includes('all-proxy-models') ? null : models,
      limits: minuteLimits(row.rpm_limit, row.tpm_limit, row.max_parallel_requests),
      expires_at: timeOf(row.expires),
      disabled: isTrue(row.blocked),
    }
  },
  // Table tokens of Calcium-Ion/new-api, model/token.go: `key` without the `sk-` that callers send, status 1 is enabled,
  // expired_time in seconds or -1, models separated by commas, addresses by line breaks.
  'new-api'(row) {
    if (text(row.deleted_at) !== '') return undefined
    const key = text(row.key)
    const models = isTrue(row.model_limits_enabled) ? text(row.model_limits).split(',').filter(Boolean) : []
    const ips = text(row.allow_ips)
      .split(/[\s,]+/)
      .filter(Boolean)
    const expires = Number(row.expired_time ?? -1)
    return {
      name: text(row.name),
      sha256: sha256(key.startsWith('sk-') ? key : `sk-${key}`),
      last4: key.slice(-4),
      ...(text(row.group) !== '' && { groups: [text(row.group)] }),
      models: models.length === 0 ? null : models,
      ips: ips.length === 0 ? null : ips,
      expires_at: expires > 0 ? expires * 1000 : null,
      disabled: Number(row.status ?? 1) !== 1,
    }
  },
  // Our own format: name, and key or sha256; team, groups, models, ips, tags separated by blanks, and expires.
  csv(row) {
    const key = text(row.key)
    const words = (value: unknown): string[] =>
      text(value)
        .split(/[\s;]+/)
        .filter(Boolean)
    const [groups, models, ips, tags] = [words(row.groups), words(row.models), words(row.ips), words(row.tags)]
    return {
      name: text(row.name),
      sha256: key === '' ? text(row.sha256).toLowerCase() : sha256(key),
      ...(key !== '' && { last4: key.slice(-4) }),
      team: wordOf(row.team),
      ...(groups.length > 0 && { groups }),
      models: models.length === 0 ? null : models,
      ips: ips.length === 0 ? null : ips,
      tags,
      expires_at: timeOf(row.expires),
    }
  },
}

const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value).trim())
const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex')
const isTrue = (value: unknown): boolean => value === true || value === 1 || /^(t|true|1)$/i.test(text(value))

/** A list in JSON, or as a database writes it into CSV: `{a,b}`. */
function list(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(text)
  return text(value)
    .replace(/^[{[]|[}\]]$/g, '')
    .split(',')
    .map(one => one.trim().replace(/^"|"$/g, ''))
    .filter(Boolean)
}

/** Limits of a minute, and of requests under way; null if there are none. */
function minuteLimits(requests: unknown, tokens: unknown, inFlight: unknown): WrittenLimits | null {
  const [perMinute, tokensPerMinute, atOnce] = [requests, tokens, inFlight].map(value => Math.floor(Number(text(value)))) as [
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

function timeOf(value: unknown): number | null {
  const time = Date.parse(text(value))
  return Number.isNaN(time) ? null : time
}

/** The nearest valid name of ours. */
function wordOf(value: unknown): string | null {
  const word = text(value)
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
