// The operations on budgets, usage and exchanges: all of them only read.

import { Readable } from 'node:stream'
import { listAccounts } from '../../budgets/accounts.js'
import { FOCUS_COLUMNS, focusLines } from '../../ledger/focus.js'
import { type By, type ExchangeQuery, exportRows, listExchanges, showExchange, usagePage, verifyLedger } from '../../ledger/queries.js'
import { Problem } from '../../problem.js'
import { DAY } from '../../store/columns.js'
import { csvOf, ndjsonOf } from './export.js'
import { type Handlers, type PageQuery, queryOf, type RangeQuery } from './handler.js'

export const ledgerHandlers = (currency: string): Handlers => ({
  'budgets.list': async call => {
    const { after, limit } = queryOf<PageQuery>(call)
    return { currency, ...(await listAccounts(call.store, { after, limit })) }
  },
  'usage.list': async call => {
    const { key, model, limit, ...query } = queryOf<RangeQuery & PageQuery & { by: string; key?: string; model?: string }>(call)
    const by = [...new Set(query.by.split(','))] as By[]
    const after = query.after?.split('.').map(Number)
    if (after !== undefined && after.length !== by.length + 1)
      throw new Problem(422, 'invalid', 'In the query, after must be the next of a page with the same by.', 'after')
    const range = rangeOf(query)
    const { rows, next } = await usagePage(call.store, { ...range, by, key, model, after, limit, of: call.actor.of })
    return { ...range, currency, rows, next: next?.join('.') ?? null }
  },
  'exchanges.list': call => {
    const { key, model, target, end_user, session, before, ...query } = queryOf<RangeQuery & Partial<ExchangeQuery>>(call)
    const { failed, limit } = query as { failed: boolean; limit: number }
    const { store, actor } = call
    return listExchanges(store, { ...rangeOf(query), key, model, target, end_user, session, before, failed, limit, of: actor.of })
  },
  'exchanges.show': async ({ store, actor, request }) => {
    const { id } = request.params as { id: string }
    const found = await showExchange(store, id, actor.of)
    if (found === undefined)
      throw new Problem(404, 'exchange_unknown', `There is no exchange with the id ${id}, or its row has been deleted.`)
    return found
  },
  'ledger.export': call => {
    const { format, ...query } = queryOf<RangeQuery & { format: 'csv' | 'ndjson' | 'focus' }>(call)
    const range = rangeOf(query)
    call.reply.type(format === 'ndjson' ? 'application/x-ndjson' : 'text/csv; charset=utf-8')
    const text =
      format === 'focus'
        ? csvOf(focusLines(call.store, range, currency), FOCUS_COLUMNS)
        : format === 'csv'
          ? csvOf(exportRows(call.store, range))
          : ndjsonOf(exportRows(call.store, range))
    return call.reply.send(Readable.from(text))
  },
  'ledger.verify': ({ store }) => verifyLedger(store),
})

/** A range of times. Default: from the beginning of the day a week ago. */
function rangeOf({ from, to }: RangeQuery): { from: number; to: number } {
  const now = Date.now()
  return { from: from ?? (Math.floor(now / DAY) - 7) * DAY, to: to ?? now + 60_000 }
}
