// The operations of the admin API, by the ids of its document. Requests have been checked against the document by then.

import { listAudit, verifyAudit } from '../audit.js'
import { type HandlerOptions, type Handlers, publisher, queryOf } from './handlers/handler.js'
import { keyHandlers } from './handlers/keys.js'
import { ledgerHandlers } from './handlers/ledger.js'
import { teamHandlers } from './handlers/teams.js'
import { tokenHandlers } from './handlers/tokens.js'

export function createHandlers({ api, currency, changes, workers, first }: HandlerOptions): Handlers {
  const published = publisher(changes)
  return {
    'whoami.show': ({ actor }) => ({ ...actor, operations: api.operations.map(one => one.id).filter(id => api.may(actor.role, id)) }),
    'openapi.show': () => api.document,
    ...keyHandlers(published),
    ...teamHandlers(published),
    ...ledgerHandlers(currency),
    ...tokenHandlers(api, first),
    'audit.list': call => listAudit(call.store, queryOf<{ before?: number; limit: number }>(call)),
    'audit.verify': call => verifyAudit(call.store, queryOf<{ head?: string }>(call).head),
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
