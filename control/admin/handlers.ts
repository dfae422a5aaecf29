// What each operation of the admin API does. Requests have been checked against the document by then.

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
import type { Worker } from '../workers.js'
import type { ApiDocument } from './document.js'
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
}

export type Handler = (call: Call) => unknown

interface RangeQuery {
  from?: number
  to?: number
}

/** Since the beginning of the day a week ago, where nobody says otherwise. */
function rangeOf(query: RangeQuery): { from: number; to: number } {
  const now = Date.now()
  return { from: query.from ?? (Math.floor(now / DAY) - 7) * DAY, to: query.to ?? now + 60_000 }
}

const nameOf = ({ request }: Call): string => (request.params as { name: string }).name

function checkRanges(ips: string[] | null | undefined): void {
  for (const range of ips ?? [])
    if (!isAddressRange(range)) throw new Problem(422, 'ips', `${range} is no address and no range of them.`, 'ips')
}

export function createHandlers({ api, currency, changes, workers }: HandlerOptions): Readonly<Record<string, Handler>> {
  /** What was written is known everywhere in this instance before it is answered. */
  const told = async <Result>(written: Promise<Result>): Promise<Result> => {
    const result = await written
    await changes()?.look()
    return result
  }
  return {
    'whoami.show': ({ actor }) => ({ ...actor, operations: api.operations.map(one => one.id).filter(id => api.may(actor.role, id)) }),
    'openapi.show': () => api.document,

    'keys.list': ({ store, request }) => {
      const { after, limit } = request.query as { after?: string; limit: number }
      return listKeys(store, { after, limit })
    },
    'keys.create': async ({ store, actor, request, reply }) => {
      const given = request.body as Partial<KeyFields> & { name: string }
      checkRanges(given.ips)
      checkBudgets(given.budgets)
      reply.code(201)
      return told(createKey(store, actor, given))
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
    'keys.show': call => showKey(call.store, nameOf(call)),
    'keys.set': call => {
      const match = (call.request.headers as { 'if-match'?: string })['if-match']
      const patch = call.request.body as KeyPatch
      checkRanges(patch.ips)
      checkBudgets(patch.budgets)
      return told(setKey(call.store, call.actor, nameOf(call), patch, match === undefined ? undefined : Number(match.replaceAll('"', ''))))
    },
    'keys.rotate': call => told(rotateKey(call.store, call.actor, nameOf(call), (call.request.body as { grace_ms: number }).grace_ms)),
    'keys.revoke': call => told(revokeKey(call.store, call.actor, nameOf(call), (call.request.body as { now: boolean }).now)),

    'budgets.list': async ({ store, request }) => {
      const { after, limit } = request.query as { after?: string; limit: number }
      return { currency, ...(await listAccounts(store, { after, limit })) }
    },

    'usage.list': async ({ store, request }) => {
      const query = request.query as RangeQuery & { by: string; key?: string; model?: string; limit: number }
      const by = [...new Set(query.by.split(','))] as By[]
      const range = rangeOf(query)
      return { ...range, currency, rows: await usage(store, { ...range, by, key: query.key, model: query.model, limit: query.limit }) }
    },
    'exchanges.list': ({ store, request }) => {
      const { key, model, target, end_user, session, before, ...query } = request.query as RangeQuery & Partial<ExchangeQuery>
      const { failed, limit } = query as { failed: boolean; limit: number }
      return listExchanges(store, { ...rangeOf(query), key, model, target, end_user, session, before, failed, limit })
    },
    'exchanges.show': async ({ store, request }) => {
      const { id } = request.params as { id: string }
      const found = await showExchange(store, id)
      if (found === undefined)
        throw new Problem(404, 'exchange_unknown', `There is no exchange with the id ${id}, or it is not kept any more.`)
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
      const given = request.body as { name: string; role: string; expires_at?: number | null }
      if (!api.roles.includes(given.role))
        throw new Problem(422, 'role', `There is no role ${given.role}: use one of ${api.roles.join(', ')}.`, 'role')
      reply.code(201)
      return createToken(store, actor, given)
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

/** A field of CSV (RFC 4180). What a spreadsheet would take for a formula is a text. */
function field(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = Array.isArray(value) ? value.join(' ') : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

async function* ndjson(pages: AsyncIterable<Record<string, unknown>[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(row => `${JSON.stringify(row)}\n`).join('')
}
