// A gateway in this process: a plan, an operator's file, a server, and a reload when the file changes.

import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Logger } from 'pino'
import { DataError } from '../codegen/read/findings.js'
import { CONTROL_SOCKET } from '../control/settings.js'
import { ControlClient } from '../engine/control/client.js'
import { connect, handle } from '../engine/gateway.js'
import { type Server, serve } from '../engine/http/server.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { createSnapshot } from '../engine/snapshot/snapshot.js'
import { createAccessLog } from './access-log.js'
import { type Loaded, loadConfig, type Settings } from './config.js'
import { logWarnings } from './models/warnings.js'
import { loadPlan } from './plan.js'
import { openState, type State } from './state/state.js'

export interface Gateway {
  url: string
  /** From now on the keys of the file are all there is, and nothing is counted. */
  leaveStore(): Promise<void>
  close(): Promise<void>
}

export interface Options {
  config: string | undefined
  /** The file's name as the operator wrote it. */
  settings: Settings
  snapshot: Snapshot
  log: Logger
  isShared: boolean
  /** What counts limits, where the snapshot was linked with it: reloads go on counting there. */
  state?: State
  /** Called with what was read after a change, where it is good. */
  onLoaded?(loaded: Loaded): void
}

export type Prepared = Loaded & { snapshot: Snapshot; state: State }

/** Gives what counts limits, for a file that says where. */
export type OpenState = (at: string | undefined) => Promise<State>

/** Reads plan and file. Throws a DataError where something is wrong with them. */
export async function prepare(config: string, open: OpenState = openState): Promise<Prepared> {
  const plan = await loadPlan(config)
  const loaded = await loadConfig(config, plan, config)
  const state = await open(loaded.settings.state)
  return { ...loaded, state, snapshot: createSnapshot(plan, loaded.gateway, state.meters) }
}

/** The same from what has been read before, with the plan that was made then. */
export async function prepareFrom(config: string, loaded: Loaded, open: OpenState = openState): Promise<Prepared> {
  const plan = await loadPlan(config, true)
  const state = await open(loaded.settings.state)
  return { ...loaded, state, snapshot: createSnapshot(plan, loaded.gateway, state.meters) }
}

/** What the log says of an error in the file or the data beside it. */
export function foundIn(error: unknown): Record<string, unknown> {
  return error instanceof DataError ? { findings: error.findings } : { err: error }
}

/** Serves until closed. Rejects where the address cannot be listened on. */
export async function run(options: Options): Promise<Gateway> {
  const { settings, log } = options
  let snapshot = options.snapshot
  const state = options.state ?? (await openState(undefined))
  state.report(log)
  const access = createAccessLog(log)
  const server: Server = await serve({
    handle,
    connect,
    host: settings.host,
    port: settings.port,
    isShared: options.isShared,
    ...settings.capacity,
    snapshot: () => snapshot,
    onOver: (call, total) => {
      const { error } = call.log
      if (error?.kind === 'internal') log.error({ id: call.id, error }, 'internal error')
      if (settings.isAccessLogged) access.add(call, total)
      control?.record(call, total)
    },
  })
  const { store, hash } = settings
  let control =
    store && new ControlClient({ socket: join(store.folder, CONTROL_SOCKET), config: hash, live: server.live, ...store.keyCache })
  if (control) snapshot.store = control
  const watcher =
    options.config === undefined
      ? undefined
      : reloadOnChange(options.config, log, state, ({ snapshot: next, settings, gateway }) => {
          // Exchanges under way keep the old one until they are over.
          snapshot.retire()
          snapshot = next
          if (!options.isShared) logWarnings(next, log)
          if (control) snapshot.store = control
          options.onLoaded?.({ settings, gateway })
        })
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${server.port}`,
    async leaveStore() {
      const left = control
      control = undefined
      delete snapshot.store
      await left?.close()
    },
    async close() {
      watcher?.close()
      await server.close(settings.grace)
      await control?.close()
      await snapshot.close()
      await state.close()
      access.flush()
    },
  }
}

function reloadOnChange(config: string, log: Logger, state: State, swap: (prepared: Prepared) => void): FSWatcher {
  let timer: NodeJS.Timeout | undefined
  const reload = async (): Promise<void> => {
    try {
      const prepared = await prepare(config, async () => state)
      if (prepared.settings.state !== state.at) log.warn({ config }, 'another `state` counts from the next start on')
      swap(prepared)
      log.info({ config }, 'reloaded')
    } catch (error) {
      if (error instanceof DataError)
        log.error({ config, findings: error.findings }, 'the changed configuration is invalid; the previous one stays in use')
      else log.error(error, 'reload failed; the old configuration goes on')
    }
  }
  // Editors replace a file rather than write into it, so the folder is what is watched.
  return watch(dirname(config) || '.', (_event, name) => {
    if (name !== null && name !== basename(config)) return
    clearTimeout(timer)
    timer = setTimeout(() => void reload(), 100)
  })
}
