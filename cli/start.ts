// `sluice start`: serves until SIGTERM or SIGINT. Exit codes: 0 clean stop, 1 bad configuration, 2 cannot listen, 3 nothing
// can be served.

import type { Logger } from 'pino'
import { HOME } from '../codegen/home.js'
import { DataError } from '../codegen/read/findings.js'
import { beat } from '../control/beats.js'
import { storeProblem } from '../control/folder.js'
import { createLog, flushed } from '../control/log.js'
import { isPostgres } from '../control/settings.js'
import { createSnapshot } from '../engine/snapshot/snapshot.js'
import { cannotListen, isPort } from './address.js'
import { bannerOf, showBanner } from './banner.js'
import { configOf, type Settings } from './config/config.js'
import { type Control, startControl } from './control.js'
import { defaultContent } from './defaults.js'
import { documentsOf } from './documents.js'
import { EXIT } from './exit-codes.js'
import { type Gateway, run } from './gateway.js'
import { logWarnings } from './models/warnings.js'
import { loadPlan } from './plan.js'
import { type Good, prepareFrom, read, readWatched } from './prepare.js'
import { reloadOnChange } from './reload.js'
import { openState } from './state/state.js'
import { type FromWorker, onStop, onSupervisorConfig, supervise, supervisorConfig } from './supervise.js'
import { configOrUsual } from './usual-config.js'
import { watchConfig } from './watch.js'

export interface StartOptions {
  config?: string
  workers?: string
  /** Set in the processes that `--workers` starts. */
  worker?: string
}

export async function start(options: StartOptions): Promise<void> {
  const config = configOrUsual(options.config)
  if (config === undefined)
    return demonstrate().catch(error => {
      if (!(error instanceof DataError)) throw error
      console.error(error.message)
      // The simulator already runs, so the process has to be ended.
      process.exit(1)
    })
  const watch = options.worker === undefined ? watchConfig(config) : undefined
  let good: Good
  try {
    // A worker serves the configuration that its supervisor has read.
    good = watch !== undefined ? await readWatched(config, watch) : ((await supervisorConfig()) ?? (await read(config)))
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    console.error(error.message)
    process.exit(1)
  }
  const { settings } = good
  if (options.worker === undefined) refuseStore(settings)
  const workers = options.workers === undefined ? settings.workers : Number(options.workers)
  if (!Number.isInteger(workers) || workers < 1) {
    console.error(`--workers must be a whole number from 1, not ${String(options.workers)}`)
    process.exit(EXIT.usage)
  }
  const log = createLog(settings.logLevel)
  if (workers > 1 && watch !== undefined) return supervise(config, good, workers, log, watch)
  const listen = options.worker === undefined ? settings : { ...settings, port: Number(options.worker) }
  const { snapshot, state } = await prepareFrom(good, at => openState(at, options.worker !== undefined))
  if (options.worker === undefined) logWarnings(snapshot, log)
  const { gateway, control } = await serveUntilStopped(
    () => run({ settings: listen, snapshot, state, good, log, isShared: options.worker !== undefined }),
    settings,
    log,
    options.worker === undefined,
  )
  if (watch !== undefined) {
    await showBanner(good, gateway.url)
    reloadOnChange(watch, config, good, log, { take: next => gateway.take(next), reloaded: isTaken => control?.reloaded(isTaken) })
    return
  }
  onSupervisorConfig(next => {
    gateway.take(next).catch(error => log.error(error, 'reload failed; the previous configuration stays in use'))
  })
}

/** Ends the process if the store can never be opened, before anything is served without it. A database that is away may come back. */
function refuseStore({ store }: Settings): void {
  if (store === undefined) return
  const problem = storeProblem(store.folder, isPostgres(store.at) ? undefined : store.at)
  if (problem === undefined) return
  console.error(`The store cannot be opened: ${problem}.`)
  process.exit(EXIT.findings)
}

/** Sends a message to the supervisor, which may have ended. */
function tell(message: FromWorker): void {
  process.send?.(message, () => undefined)
}

async function serveUntilStopped(
  open: () => Promise<Gateway>,
  settings: Settings,
  log: Logger,
  isAlone: boolean,
  isDemonstration = false,
): Promise<{ gateway: Gateway; control: Control | undefined }> {
  let gateway: Gateway
  try {
    gateway = await open()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    console.error(cannotListen(`${settings.host}:${settings.port}`, why.startsWith('cannot listen') ? undefined : why))
    process.exit(EXIT.listen)
  }
  if (isAlone) log.info({ url: gateway.url }, 'listening')
  else {
    tell({ listening: true })
    beat()
  }
  log.flush()
  // Without a file the store is optional: if another instance owns the folder, this one serves without it.
  const control = isAlone
    ? startControl(settings, log, { onRefused: isDemonstration ? () => void gateway.leaveStore() : undefined })
    : undefined
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    await gateway.close()
    await control?.stop()
    await flushed(log)
    process.exit(0)
  }
  onStop(() => void stop())
  return { gateway, control }
}

/** Without a file: the simulator as provider, a demo key, and a command to try. */
async function demonstrate(): Promise<void> {
  const { PORT: port } = process.env
  if (port && !isPort(port)) {
    console.error('The environment variable PORT is not a port: set it to a number up to 65535, or remove it.')
    process.exit(EXIT.findings)
  }
  const [{ startSimulator }, plan] = await Promise.all([import('./simulator/server.js'), loadPlan(undefined)])
  const simulator = await startSimulator({ listen: '127.0.0.1:0' })
  const { content, key } = defaultContent(plan, simulator.url)
  const listen = !port ? {} : { listen: `127.0.0.1:${port}` }
  const { settings, gateway: config } = await configOf({ ...content, ...listen, grace: '5s', store: 'sqlite' }, plan)
  const log = createLog(settings.logLevel)
  const state = await openState(undefined)
  const snapshot = createSnapshot(plan, config, state)
  snapshot.documents = documentsOf(HOME)
  logWarnings(snapshot, log)
  const { gateway } = await serveUntilStopped(() => run({ settings, snapshot, state, log, isShared: false }), settings, log, true, true)
  const routes = plan.routes.filter(route => route.fail === undefined).length
  const models = Object.keys(config.models)
  console.log(
    bannerOf({
      url: gateway.url,
      routes,
      hasReference: true,
      models,
      keys: `Demo key: ${key}`,
      key: `'Authorization: Bearer ${key}'`,
    }),
  )
}
