// A gateway in this process: a plan, an operator's file, and a server, which takes another snapshot while it serves.

import type { Logger } from 'pino'
import { connect, handle } from '../engine/gateway.js'
import { type Server, serve } from '../engine/http/server.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { createSnapshot } from '../engine/snapshot/snapshot.js'
import { createAccessLog } from './access-log.js'
import { type Loaded, loadConfig, type Settings } from './config.js'
import { importPlan, locatePlan } from './plan.js'

export interface Gateway {
  url: string
  /** Serves with another snapshot from now on. Exchanges under way keep the old one until they are over. */
  take(next: Prepared): void
  close(): Promise<void>
}

export interface Options {
  settings: Settings
  snapshot: Snapshot
  log: Logger
  isShared: boolean
}

/** A configuration that is good, as one process hands it to another: `plan` is the address of its plan's module. */
export type Good = Loaded & { plan: string }

export type Prepared = Loaded & { snapshot: Snapshot }

/**
 * Reads the overlay and the file. Throws a DataError where something is wrong with them. `isServing`: this process serves
 * meanwhile.
 */
export async function read(config: string, isServing = false): Promise<Good> {
  const address = await locatePlan(config, isServing)
  return { ...(await loadConfig(config, await importPlan(address), config)), plan: address }
}

/** Reads a configuration, and makes what is served with it. Throws a DataError where something is wrong. */
export async function prepare(config: string): Promise<Prepared> {
  return prepareFrom(await read(config))
}

/** What is served with a configuration that was read. */
export async function prepareFrom(good: Good): Promise<Prepared> {
  return { ...good, snapshot: createSnapshot(await importPlan(good.plan), good.gateway) }
}

/** Serves until closed. Rejects where the address cannot be listened on. */
export async function run(options: Options): Promise<Gateway> {
  const { log } = options
  let { snapshot, settings } = options
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
    },
  })
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${server.port}`,
    take(next) {
      snapshot.retire()
      snapshot = next.snapshot
      settings = next.settings
      log.level = settings.logLevel
      log.info('reloaded')
    },
    async close() {
      await server.close(settings.grace)
      await snapshot.close()
      access.flush()
    },
  }
}
