// A gateway in this process: a plan, a configuration, and a server that can switch to another snapshot.

import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { createAccessLog } from '../control/access-log.js'
import { CONTROL_SOCKET } from '../control/settings.js'
import { Turns } from '../control/turns.js'
import { ControlClient } from '../engine/control/client.js'
import { maskIssuedIn } from '../engine/control/key-form.js'
import type { TokenKeys } from '../engine/control/tokens.js'
import type { Exchange } from '../engine/core/exchange.js'
import { connect, handle } from '../engine/gateway.js'
import { type Server, type ServerOptions, serve } from '../engine/http/server.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { AccountLists } from './account-lists.js'
import { urlOf } from './address.js'
import type { Settings } from './config/config.js'
import { logWarnings } from './models/warnings.js'
import { importFacts } from './plan.js'
import { type Good, prepareFrom } from './prepare.js'
import { RUN } from './run-id.js'
import { openState, type State } from './state/state.js'

export interface Gateway {
  url: string
  /**
   * Serves with another configuration from now on; counters of limits survive. Exchanges under way keep the old one. Several
   * are taken in sequence, so that the last one stays.
   */
  take(next: Good): Promise<void>
  /** From now on only the keys of the file exist, and usage is not counted. */
  leaveStore(): Promise<void>
  close(): Promise<void>
}

export interface Options {
  settings: Settings
  snapshot: Snapshot
  log: Logger
  /** Whether the log keeps its level, because a program that embeds the gateway chose it. Default: the configuration sets it. */
  isLevelFixed?: boolean
  isShared: boolean
  /** The counters of limits that the snapshot was linked with: reloads keep them. */
  state?: State
  /** The configuration of the snapshot; without it, account lists are not asked for. */
  good?: Good
  /** Milliseconds between two requests for account lists. Default ten minutes. */
  listsEvery?: number
  /** The most milliseconds that a line of the access log waits. Default 200. */
  lateness?: number
}

/** Serves until closed. Rejects if the address cannot be listened on. */
export async function run(options: Options): Promise<Gateway> {
  const { log } = options
  let { snapshot, settings, good: served } = options
  const state = options.state ?? (await openState(undefined))
  state.report(log)
  const access = createAccessLog(log, options.lateness)
  const accounts = new AccountLists(log, options.listsEvery)
  let server: Server | undefined
  let control = openControl(settings, state, () => server)
  // Before the first request: one that came earlier would be refused, although its token or key is valid.
  let tokens = await openTokens(settings, undefined, log)
  const over = (call: Exchange, total: number): void => {
    const { error } = call.log
    if (error?.kind === 'internal') log.error({ id: call.id, error: maskIssuedIn(error) }, 'internal error')
    const isLogged = settings.isAccessLogged
    const isLeft = control?.record(call, total, isLogged && access.mayLeave(call))
    if (isLogged && !isLeft) access.add(call, total)
  }
  const use = (next: Snapshot): void => {
    snapshot = next
    snapshot.onMirrored = over
    if (control) snapshot.store = control
    if (tokens) snapshot.tokens = tokens
  }
  /** Switches to another snapshot of the same configuration when an account's list changes. */
  const follow = async (good: Good): Promise<void> => {
    const { providers } = await importFacts(good.plan)
    const show = async (): Promise<void> => {
      const next = await prepareFrom(good, async () => state, accounts.lists)
      // Another configuration, or another list, has been taken meanwhile.
      if (served !== good) return next.snapshot.retire()
      snapshot.retire()
      use(next.snapshot)
      log.info('the models in accounts have changed')
    }
    const changed = (): void => void show().catch((error: unknown) => log.error(error, 'the models in accounts cannot be listed'))
    accounts.follow({ gateway: good.gateway, providers, accounts: () => snapshot.accounts }, changed)
  }
  /** The lines of records that nobody has taken are written here. */
  const part = async (from: ControlClient | undefined): Promise<void> => {
    for (const batch of (await from?.close()) ?? []) access.addBatch(batch)
  }
  const leaveStore = async (): Promise<void> => {
    const left = control
    control = undefined
    delete snapshot.store
    state.budgets.treasury = undefined
    await part(left)
  }
  use(snapshot)
  try {
    server = await listen(options, () => snapshot, over)
  } catch (error) {
    tokens?.close()
    await leaveStore()
    throw error
  }
  if (served) await follow(served)
  const { port, close } = server
  const take = async (good: Good): Promise<void> => {
    const next = await prepareFrom(good, async () => state, accounts.lists)
    const verifier = await openTokens(next.settings, tokens, log)
    // Nothing is awaited from here on: a retired snapshot must not get another request.
    snapshot.retire()
    if (tokens !== verifier) tokens?.close()
    tokens = verifier
    use(next.snapshot)
    if (!options.isShared) logWarnings(snapshot, log)
    served = good
    settings = next.settings
    if (!options.isLevelFixed) log.level = settings.logLevel
    log.info('reloaded')
    await follow(good)
  }
  // A configuration that takes long to load must not replace one that was taken later.
  const turns = new Turns(1)
  return {
    url: urlOf(settings.host, port),
    leaveStore,
    take: good => turns.run(() => take(good)),
    async close() {
      served = undefined
      accounts.close()
      await close(settings.grace, settings.drain)
      state.budgets.close()
      await part(control)
      tokens?.close()
      await snapshot.close()
      await state.close()
      access.flush()
    },
  }
}

function listen({ settings, isShared }: Options, snapshot: () => Snapshot, onOver: ServerOptions['onOver']): Promise<Server> {
  const { host, port, capacity } = settings
  return serve({ handle, connect, host, port, isShared, ...capacity, snapshot, onOver })
}

/** The connection to the control process, which grants the budgets' money. Undefined without a store. */
function openControl({ store, hash }: Settings, state: State, server: () => Server | undefined): ControlClient | undefined {
  if (store === undefined) return undefined
  const control = new ControlClient({
    socket: join(store.folder, CONTROL_SOCKET),
    run: RUN,
    config: hash,
    live: () => server()?.live() ?? [],
    condition: () => ({
      ...(server()?.held() ?? { sockets: 0, bodyBytes: 0 }),
      aside: state.balance.aside(),
      isStateUp: state.meters.sharing && !state.meters.sharing.isAway,
    }),
    ...store.keyCache,
  })
  control.fund(state.budgets)
  return control
}

/** The verifier of tokens: the existing one if its settings have not changed. The caller closes the one that is replaced. */
async function openTokens({ tokens }: Settings, before: TokenKeys | undefined, log: Logger): Promise<TokenKeys | undefined> {
  if (before && isDeepStrictEqual(before.options, tokens)) return before
  if (tokens === undefined) return undefined
  const { host } = new URL(tokens.jwks)
  // Loaded on demand, because its library is large.
  const { TokenKeys } = await import('../engine/control/tokens.js')
  return new TokenKeys(tokens, error => {
    if (error === undefined) log.info({ host }, 'the keys that verify tokens are available')
    else log.error({ host, cause: reasonOf(error) }, 'the keys that verify tokens cannot be fetched')
  })
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { code?: string } }
  return cause?.code ?? message
}
