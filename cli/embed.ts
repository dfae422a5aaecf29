// The API for programs that embed a gateway: `import { serve } from 'sluice'`. docs/embed.md describes it.

import pino, { type Logger } from 'pino'
import { HOME } from '../codegen/home.js'
import { Turns } from '../control/turns.js'
import { configOf, type Loaded } from './config/config.js'
import { startControl } from './control.js'
import { run } from './gateway.js'
import { importFacts, locatePlan } from './plan.js'
import { type Good, prepareFrom, read } from './prepare.js'
import { openState } from './state/state.js'

export { DataError, type Finding } from '../codegen/read/findings.js'
export type { Plan } from '../engine/plan.js'
export type { GatewayConfig } from '../engine/snapshot/config.js'
export type { Snapshot } from '../engine/snapshot/model.js'
export { createSnapshot } from '../engine/snapshot/snapshot.js'
export { loadPlan } from './plan.js'

export interface ServeOptions {
  /** The path of a gateway.yaml; the folders beside it are its overlay, and its `workers` are ignored. */
  config?: string
  /** The content of a gateway.yaml, in place of a file. Paths in it are relative to the working directory. */
  content?: object
  /** `host:port`, which overrides the one in the file. */
  listen?: string
  /** Receives the log; undefined: nothing is logged. */
  log?: Logger
}

export interface Gateway {
  /** The address, such as http://127.0.0.1:8080. */
  readonly url: string
  /**
   * Reads the file and its overlay again. Rejects with a DataError if they are invalid: the previous configuration stays in
   * use.
   */
  reload(): Promise<void>
  /** Stops accepting, waits for exchanges up to the file's `grace`, then ends the rest. */
  close(): Promise<void>
}

/**
 * Serves in this process until it is closed. Rejects with a DataError, whose `findings` describe the errors, and with an
 * Error if the address cannot be listened on.
 */
export async function serve(options: ServeOptions): Promise<Gateway> {
  const log = options.log ?? pino({ level: 'silent' })
  const load = async (): Promise<Good> => withListen(await loadFrom(options), options.listen)
  const good = await load()
  const { settings } = good
  const { snapshot, state } = await prepareFrom(good, openState)
  const gateway = await run({ settings, snapshot, state, good, log, isShared: false, isLevelFixed: true })
  const control = startControl(settings, log, { isEmbedded: true })
  // In sequence: what was read earlier must not replace what was read later.
  const turns = new Turns(1)
  return {
    url: gateway.url,
    reload: () => turns.run(async () => gateway.take(await load())),
    async close() {
      await gateway.close()
      await control?.stop()
    },
  }
}

async function loadFrom({ config, content }: ServeOptions): Promise<Good> {
  if ((config === undefined) === (content === undefined)) throw new TypeError('serve takes either config or content.')
  if (config !== undefined) return read(config)
  const plan = await locatePlan(undefined)
  const loaded: Loaded = await configOf(content as object, await importFacts(plan))
  return { ...loaded, plan, folder: HOME }
}

/** The address is checked as that of a file is. */
async function withListen(good: Good, listen: string | undefined): Promise<Good> {
  if (listen === undefined) return good
  const { host, port } = (await configOf({ listen }, await importFacts(good.plan), 'options')).settings
  return { ...good, settings: { ...good.settings, host, port } }
}
