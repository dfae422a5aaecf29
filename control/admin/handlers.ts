// The operations of the admin API. Requests have been checked against the document by then.

import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAddressRange } from '../../engine/snapshot/key.js'
import { type Actor, verifyAudit } from '../audit.js'
import { listAccounts } from '../budgets/accounts.js'
import { checkBudgets } from '../budgets/written.js'
import type { Changes } from '../keys/changes.js'
import {
  createKey,
  type ImportedKey,
  importKeys,
  type KeyFields,
  type KeyPatch,
  type KeyView,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
  showKey,
} from '../keys/keys.js'
import { type By, EXPORTED, type ExchangeQuery, exportRows, listExchanges, showExchange, usage, verifyLedger } from '../ledger/queries.js'
import { Problem } from '../problem.js'
import { DAY } from '../store/columns.js'
import type { Store } from '../store/store.js'
import { checkLimits } from '../teams/limits.js'
import { createTeam, listTeams, setTeam, showTeam, type TeamFields, type TeamPatch } from '../teams/teams.js'
import type { Worker } from '../workers.js'
import type { ApiDocument } from './document.js'
import type { FirstToken } from './first-token.js'
import { createToken, listTokens, revokeToken } from './tokens.js'

export interface Call {
  store: Store
  actor: Actor
  request: FastifyRequest
  reply: FastifyReply
}

export interface HandlerOptions {
  api: ApiDocument
  currency: string
  changes(): Changes | undefined
  workers(): Worker[]
  first: FirstToken
}

interface NewToken {
  name: string
  role: string
  expires_at?: number | null
  teams?: string[]
  keys?: string[]
}

export type Handler = (call: Call) => unknown

interface RangeQuery {
  from?: number
  to?: number
}

/** Default: from the beginning of the day a week ago. */
function rangeOf(query: RangeQuery): { from: number; to: number } {
  const now = Date.now()
  return { from: query.from ?? (Math.floor(now / DAY) - 7) * DAY, to: query.to ?? now + 60_000 }
}

const nameOf = ({ request }: Call): string => (request.params as { name: string }).name

function checkRanges(ips: string[] | null | undefined): void {
  for (const range of ips ?? [])
    if (!isAddressRange(range)) throw new Problem(422, 'ips', `${range} is neither an IP address nor a range of addresses.`, 'ips')
}

/** The key that an operation names; a key outside of the actor's bounds counts as unknown. */
async function ownKey(call: Call): Promise<KeyView> {
  const { of } = call.actor
  const key = await showKey(call.store, nameOf(call))
  const isOwn = of === undefined || ('teams' in of ? key.team !== null && of.teams.includes(key.team) : of.keys.includes(key.name))
  if (!isOwn) throw new Problem(404, 'key_unknown', `There is no key named ${nameOf(call)}.`)
  return key
}

/** The version in the request; undefined if it has none. */
function versionOf({ request }: Call): number | undefined {
  const match = (request.headers as { 'if-match'?: string })['if-match']
  return match === undefined ? undefined : Number(match.replaceAll('"', ''))
}

/** The teams that an actor is bound to; undefined if it may see all of them. */
function ownTeams({ of }: Actor): readonly string[] | undefined {
  return of && ('teams' in of ? of.teams : [])
}

/** The team of a key that an actor creates or moves; an actor bound to a single team may omit it. */
function ownTeam({ of, role }: Actor, team: string | null | undefined): { team?: string } {
  if (of === undefined || !('teams' in of)) return {}
  const own = team ?? (team === undefined && of.teams.length === 1 ? (of.teams[0] as string) : null)
  if (own === null || !of.teams.includes(own))
    throw new Problem(
      403,
      'team',
      `With this token, the role ${role} may create and change only keys of the teams ${of.teams.join(', ')}.`,
      'team',
    )
  return { team: own }
}

export function createHandlers({ api, currency, changes, workers, first }: HandlerOptions): Readonly<Record<string, Handler>> {
  /** Answers a write only after all processes of this instance know it. */
  const told = async <Result>(written: Promise<Result>): Promise<Result> => {
    const result = await written
    await changes()?.check()
    return result
  }
  return {
    'whoami.show': ({ actor }) => ({ ...actor, operations: api.operations.map(one => one.id).filter(id => api.may(actor.role, id)) }),
    'openapi.show': () => api.document,

    'keys.list': ({ store, actor, request }) => {
      const { after, limit } = request.query as { after?: string; limit: number }
      return listKeys(store, { after, limit, of: actor.of })
    },
    'keys.create': async ({ store, actor, request, reply }) => {
      const given = request.body as Partial<KeyFields> & { name: string }
      checkRanges(given.ips)
      checkBudgets(given.budgets)
      const made = { ...given, ...ownTeam(actor, given.team) }
      reply.code(201)
      return told(createKey(store, actor, made))
    },
    'keys.import': async ({ store, actor, request, reply }) => {
      const { keys } = request.body as { keys: ImportedKey[] }
      for (const key of keys) {
        checkRanges(key.ips)
        checkBudgets(key.budgets)
      }
      reply.code(201)
      return { imported: await told(importKeys(store, actor, keys)) }
    },
    'keys.show': ownKey,
    'keys.set': async call => {
      const { version } = await ownKey(call)
      const patch = call.request.body as KeyPatch
      checkRanges(patch.ips)
      checkBudgets(patch.budgets)
      if (patch.team !== undefined) ownTeam(call.actor, patch.team)
      // A key that meanwhile belongs to another team is not changed.
      const expected = versionOf(call) ?? (call.actor.of && version)
      return told(setKey(call.store, call.actor, nameOf(call), patch, expected))
    },
    'keys.rotate': async call => {
      await ownKey(call)
      return told(rotateKey(call.store, call.actor, nameOf(call), (call.request.body as { grace_ms: number }).grace_ms))
    },
    'keys.revoke': async call => {
      await ownKey(call)
      return told(revokeKey(call.store, call.actor, nameOf(call), (call.request.body as { now: boolean }).now))
    },

    'teams.list': ({ store, actor, request }) => {
      const { after, limit } = request.query as { after?: string; limit: number }
      return listTeams(store, { after, limit, only: ownTeams(actor) })
    },
    'teams.create': async ({ store, actor, request, reply }) => {
      const given = request.body as Partial<TeamFields> & { name: string }
      checkLimits(given.limits)
      checkBudgets(given.budgets)
      reply.code(201)
      return told(createTeam(store, actor, given))
    },
    'teams.show': async ({ store, actor, request }) => {
      const { name } = request.params as { name: string }
      const team = await showTeam(store, name)
      if (ownTeams(actor)?.includes(team.name) === false) throw new Problem(404, 'team_unknown', `There is no team named ${name}.`)
      return team
    },
    'teams.set': async call => {
      const patch = call.request.body as TeamPatch
      checkLimits(patch.limits)
      checkBudgets(patch.budgets)
      return told(setTeam(call.store, call.actor, nameOf(call), patch, versionOf(call)))
    },

    'budgets.list': async ({ store, request }) => {
      const { after, limit } = request.query as { after?: string; limit: number }
      return { currency, ...(await listAccounts(store, { after, limit })) }
    },

    'usage.list': async ({ store, actor, request }) => {
      const query = request.query as RangeQuery & { by: string; key?: string; model?: string; limit: number }
      const by = [...new Set(query.by.split(','))] as By[]
      const range = rangeOf(query)
      return {
        ...range,
        currency,
        rows: await usage(store, { ...range, by, key: query.key, model: query.model, limit: query.limit, of: actor.of }),
      }
    },
    'exchanges.list': ({ store, actor, request }) => {
      const { key, model, target, end_user, session, before, ...query } = request.query as RangeQuery & Partial<ExchangeQuery>
      const { failed, limit } = query as { failed: boolean; limit: number }
      return listExchanges(store, { ...rangeOf(query), key, model, target, end_user, session, before, failed, limit, of: actor.of })
    },
    'exchanges.show': async ({ store, actor, request }) => {
      const { id } = request.params as { id: string }
      const found = await showExchange(store, id, actor.of)
      if (found === undefined)
        throw new Problem(404, 'exchange_unknown', `There is no exchange with the id ${id}, or its row has been deleted.`)
      return found
    },
    'ledger.export': ({ store, request, reply }) => {
      const query = request.query as RangeQuery & { format: 'csv' | 'ndjson' }
      const lines = query.format === 'csv' ? csv(exportRows(store, rangeOf(query))) : ndjson(exportRows(store, rangeOf(query)))
      reply.type(query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson')
      return reply.send(Readable.from(lines))
    },
    'ledger.verify': ({ store }) => verifyLedger(store),

    'audit.list': async ({ store, request }) => {
      const { before, limit } = request.query as { before?: number; limit: number }
      let select = store.db.selectFrom('audit').selectAll().orderBy('seq', 'desc').limit(limit)
      if (before !== undefined) select = select.where('seq', '<', before)
      const rows = await select.execute()
      const json = (text: string | null): unknown => (text === null ? null : JSON.parse(text))
      return { entries: rows.map(row => ({ ...row, before: json(row.before), after: json(row.after) })) }
    },
    'audit.verify': ({ store }) => verifyAudit(store),

    'tokens.list': async ({ store }) => ({ tokens: await listTokens(store) }),
    'tokens.create': async ({ store, actor, request, reply }) => {
      const { teams, keys, ...given } = request.body as NewToken
      if (!api.roles.has(given.role))
        throw new Problem(422, 'role', `There is no role ${given.role}: use one of ${[...api.roles.keys()].join(', ')}.`, 'role')
      const of = api.roles.get(given.role)
      const bound = of === 'teams' ? teams && { teams } : keys && { keys }
      if ((teams !== undefined && of !== 'teams') || (keys !== undefined && of !== 'keys') || (of !== undefined && bound === undefined))
        throw new Problem(422, 'bound', `A token of the role ${given.role} must name ${of ?? 'neither teams nor keys'}.`, of ?? 'role')
      reply.code(201)
      return createToken(store, actor, { ...given, ...(bound && { of: bound }) })
    },
    'tokens.first': async ({ store, request, reply }) => {
      const { code } = request.params as { code: string }
      if (!first.take(code)) throw new Problem(404, 'code', 'This link is invalid, or has expired.')
      reply.code(201)
      return createToken(store, { name: 'first', via: 'link', role: 'owner' }, { name: 'first', role: 'owner' })
    },
    'tokens.revoke': async call => {
      await revokeToken(call.store, call.actor, nameOf(call))
      call.reply.code(204)
      return null
    },

    'instances.list': async ({ store }) => ({
      instances: await store.db
        .selectFrom('instance')
        .select(['public_id', 'host', 'started_at', 'seen_at', 'config_hash'])
        .orderBy('id')
        .execute(),
      workers: workers().map(({ pid, config, gauges }) => ({ pid, config, gauges: gauges ?? null })),
    }),
  }
}

async function* csv(pages: AsyncIterable<Record<string, unknown>[]>): AsyncGenerator<string> {
  yield `${EXPORTED.join(',')}\r\n`
  for await (const page of pages) yield page.map(row => `${EXPORTED.map(name => field(row[name])).join(',')}\r\n`).join('')
}

/** A field of CSV (RFC 4180). A text that a spreadsheet would take for a formula is escaped. */
function field(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = Array.isArray(value) ? value.join(' ') : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

async function* ndjson(pages: AsyncIterable<Record<string, unknown>[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(row => `${JSON.stringify(row)}\n`).join('')
}
