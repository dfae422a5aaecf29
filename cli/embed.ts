// What a program imports that has a gateway inside of it: `import { serve } from 'sluice'`. docs/embed.md shows it.

import pino, { type Logger } from 'pino'
import { address } from './address.js'
import { configOf, type Loaded } from './config.js'
import { startControl } from './control.js'
import { run } from './gateway.js'
import { HOME } from './home.js'
import { importPlan, locatePlan } from './plan.js'
import { type Good, prepareFrom, read } from './prepare.js'
import { openState } from './state/state.js'

export { DataError, type Finding } from '../codegen/read/findings.js'
export type { Plan } from '../engine/plan.js'
export type { GatewayConfig } from '../engine/snapshot/config.js'
export type { Snapshot } from '../engine/snapshot/model.js'
export { createSnapshot } from '../engine/snapshot/snapshot.js'
export { loadPlan } from './plan.js'

export interface ServeOptions {
  /** The path of a gateway.yaml; the folders beside it are its overlay, and its `workers` do not count. */
  config?: string
  /** What a gateway.yaml holds, in place of a file. Paths in it are taken from the working directory. */
  content?: object
  /** `host:port`, in place of the one in the file. */
  listen?: string
  /** Where lines of the log go; nothing is logged where it is absent. */
  log?: Logger
}

export interface Gateway {
  /** Where it listens, such as http://127.0.0.1:8080. */
  readonly url: string
  /** Reads the file and its overlay again. Rejects with a DataError where they are wrong: what was read before stays in use. */
  reload(): Promise<void>
  /** Stops accepting, lets exchanges finish up to `grace` of the file, then ends those that are left. */
  close(): Promise<void>
}

/**
 * Serves in this process until it is closed. Rejects with a DataError, whose `findings` say what is wrong with the file, and with
 * an Error where the address cannot be listened on.
 */
export async function serve(options: ServeOptions): Promise<Gateway> {
  const log = options.log ?? pino({ level: 'silent' })
  const load = async (): Promise<Good> => withListen(await loadFrom(options), options.listen)
  const good = await load()
  const { settings } = good
  const { snapshot, state } = await prepareFrom(good, openState)
  const gateway = await run({ settings, snapshot, state, good, log, isShared: false })
  const control = startControl(settings, log)
  return {
    url: gateway.url,
    reload: async () => gateway.take(await load()),
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
  const loaded: Loaded = await configOf(content as object, await importPlan(plan))
  return { ...loaded, plan, folder: HOME }
}

function withListen(good: Good, listen: string | undefined): Good {
  return listen === undefined ? good : { ...good, settings: { ...good.settings, ...address(listen) } }
}
