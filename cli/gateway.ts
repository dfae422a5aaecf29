// A gateway in this process: a plan, an operator's file, and a server, which takes another snapshot while it serves.

import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { CONTROL_SOCKET } from '../control/settings.js'
import { ControlClient } from '../engine/control/client.js'
import { TokenKeys } from '../engine/control/tokens.js'
import type { Exchange } from '../engine/core/exchange.js'
import { connect, handle } from '../engine/gateway.js'
import { type Server, serve } from '../engine/http/server.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { createSnapshot } from '../engine/snapshot/snapshot.js'
import { createAccessLog } from './access-log.js'
import { type Loaded, loadConfig, type Settings } from './config.js'
import { documentsOf } from './documents.js'
import { compileExpressions } from './expressions.js'
import { logWarnings } from './models/warnings.js'
import { importPlan, locatePlan } from './plan.js'
import { openState, type State } from './state/state.js'

export interface Gateway {
  url: string
  /** Serves with another configuration from now on; limits go on counting. Exchanges under way keep the old one until they are over. */
  take(next: Good): Promise<void>
  /** From now on the keys of the file are all there is, and nothing is counted. */
  leaveStore(): Promise<void>
  close(): Promise<void>
}

export interface Options {
  settings: Settings
  snapshot: Snapshot
  log: Logger
  isShared: boolean
  /** What counts limits, where the snapshot was linked with it: reloads go on counting there. */
  state?: State
  /** Milliseconds that a line of the access log waits at most. Default 200. */
  lateness?: number
}

/** A configuration that is good, as one process hands it to another: the address of its plan's module, and its folder. */
export type Good = Loaded & { plan: string; folder: string }

export type Prepared = Good & { snapshot: Snapshot; state: State }

/** Gives what counts limits, for a file that says where. */
export type OpenState = (at: string | undefined) => Promise<State>

/**
 * Reads the overlay and the file. Throws a DataError where something is wrong with them. `isServing`: this process serves
 * meanwhile.
 */
export async function read(config: string, isServing = false): Promise<Good> {
  const address = await locatePlan(config, isServing)
  return { ...(await loadConfig(config, await importPlan(address), config)), plan: address, folder: dirname(resolve(config)) }
}

/** Reads a configuration, and makes what is served with it. Throws a DataError where something is wrong. */
export async function prepare(config: string, open: OpenState = openState): Promise<Prepared> {
  return prepareFrom(await read(config), open)
}

/** What is served with a configuration that was read. */
export async function prepareFrom(good: Good, open: OpenState = openState): Promise<Prepared> {
  const plan = await importPlan(good.plan)
  const state = await open(good.settings.state)
  const expressions = await compileExpressions(good.gateway)
  const snapshot = createSnapshot(plan, good.gateway, state, expressions)
  if (good.settings.hasReference) snapshot.documents = documentsOf(good.folder)
  return { ...good, state, snapshot }
}

/** Serves until closed. Rejects where the address cannot be listened on. */
export async function run(options: Options): Promise<Gateway> {
  const { log } = options
  let { snapshot, settings } = options
  const state = options.state ?? (await openState(undefined))
  state.report(log)
  const access = createAccessLog(log, options.lateness)
  const over = (call: Exchange, total: number): void => {
    const { error } = call.log
    if (error?.kind === 'internal') log.error({ id: call.id, error }, 'internal error')
    if (settings.isAccessLogged) access.add(call, total)
    control?.record(call, total)
  }
  const take = (next: Snapshot): void => {
    snapshot = next
    snapshot.onMirrored = over
    if (control) snapshot.store = control
    if (tokens) snapshot.tokens = tokens
  }
  const server: Server = await serve({
    handle,
    connect,
    host: settings.host,
    port: settings.port,
    isShared: options.isShared,
    ...settings.capacity,
    snapshot: () => snapshot,
    onOver: (call, total) => over(call, total),
  })
  const { store, hash } = settings
  let control =
    store && new ControlClient({ socket: join(store.folder, CONTROL_SOCKET), config: hash, live: server.live, ...store.keyCache })
  control?.fund(state.budgets)
  let tokens = openTokens(settings, undefined, log)
  take(snapshot)
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${server.port}`,
    async take(good) {
      const next = await prepareFrom(good, async () => state)
      snapshot.retire()
      tokens = openTokens(next.settings, tokens, log)
      take(next.snapshot)
      if (!options.isShared) logWarnings(snapshot, log)
      settings = next.settings
      log.level = settings.logLevel
      log.info('reloaded')
    },
    async leaveStore() {
      const left = control
      control = undefined
      delete snapshot.store
      state.budgets.treasury = undefined
      await left?.close()
    },
    async close() {
      await server.close(settings.grace, settings.drain)
      state.budgets.close()
      await control?.close()
      tokens?.close()
      await snapshot.close()
      await state.close()
      access.flush()
    },
  }
}

/** What verifies tokens: the same as before where the file still says the same of them. */
function openTokens({ tokens }: Settings, before: TokenKeys | undefined, log: Logger): TokenKeys | undefined {
  if (before && isDeepStrictEqual(before.options, tokens)) return before
  before?.close()
  if (tokens === undefined) return undefined
  const { host } = new URL(tokens.jwks)
  return new TokenKeys(tokens, error => {
    if (error === undefined) log.info({ host }, 'the keys of tokens are there')
    else log.error({ host, cause: reasonOf(error) }, 'the keys of tokens cannot be fetched')
  })
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { code?: string } }
  return cause?.code ?? message
}
