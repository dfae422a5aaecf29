// Supervises several processes on one port; the kernel distributes connections. This process reads the configuration, and
// each change of it, and sends it to the workers. A worker that dies or is stuck is restarted with the last valid
// configuration; after growing delays if it keeps dying.

import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { type Beat, watchBeats } from '../control/beats.js'
import { flushed } from '../control/log.js'
import { cannotListen, urlOf } from './address.js'
import { showBanner } from './banner.js'
import { type Ended, startChild } from './children.js'
import { type Control, startControl } from './control.js'
import { EXIT } from './exit-codes.js'
import { freePort } from './ports.js'
import type { Good } from './prepare.js'
import { reloadOnChange } from './reload.js'
import { RUN, RUN_VARIABLE } from './run-id.js'
import type { FromSupervisor, ToSupervisor } from './state/state.js'
import { WorkerLimits } from './state/workers.js'
import type { Watch } from './watch.js'

/** Messages from a worker. */
export type FromWorker = { listening: true } | ToSupervisor | Beat

/** Milliseconds before a worker is restarted: the first time, and at most. */
const FIRST_WAIT = 500
const LONGEST_WAIT = 30_000
/** Milliseconds after which a worker counts as healthy. */
const WELL_AFTER = 10_000
/** Workers in a row that may end before they served, while no other serves. */
const MOST_FAILURES = 5

/** `watch` began before `first` was read. */
export async function supervise(config: string, first: Good, workers: number, log: Logger, watch: Watch): Promise<void> {
  const { host } = first.settings
  const port = await freePort(host, first.settings.port).catch(() => undefined)
  if (port === undefined) {
    console.error(cannotListen(`${host}:${first.settings.port}`))
    process.exit(EXIT.listen)
  }
  let good = first
  const children = new Set<ChildProcess>()
  const serving = new Set<ChildProcess>()
  // The shared counters of workers, unless there is another state.
  const limits = new WorkerLimits()
  let hasBegun = false
  let control: Control | undefined
  let isStopping = false
  /** Workers in a row that ended early, and how many of them never served. */
  let hasty = 0
  let failures = 0
  // Every worker has to open what another has sealed.
  const env = { ...process.env, SLUICE_SEAL: process.env.SLUICE_SEAL || randomBytes(32).toString('hex'), [RUN_VARIABLE]: RUN }

  const begin = (): void => {
    if (isStopping) return
    let since = Number.POSITIVE_INFINITY
    const args = ['start', '--config', config, '--worker', String(port)]
    const child = startChild(process.argv[1] as string, args, { env }, how => {
      if (child !== undefined) forget(child)
      if (isStopping) {
        if (children.size === 0) void end()
      } else again(how, since)
    })
    if (child === undefined) return
    children.add(child)
    const given = good
    child.send(given, () => undefined)
    watchBeats(child, () => log.error({ pid: child.pid }, 'a worker is stuck; ending it'))
    child.on('message', (message: FromWorker) => {
      if ('alive' in message) return
      if ('limits' in message) {
        const answer: FromSupervisor = { limits: limits.answer(child, message.limits, children.size) }
        child.send(answer, () => undefined)
        return
      }
      // A worker that does not listen yet did not get a newer configuration.
      if (good !== given) child.send(good, () => undefined)
      since = performance.now()
      serving.add(child)
      failures = 0
      if (!hasBegun && serving.size === workers) allServe()
    })
  }
  const allServe = (): void => {
    hasBegun = true
    const url = urlOf(host, port)
    log.info({ url, workers }, 'listening')
    log.flush()
    void showBanner(first, url)
    control = startControl(first.settings, log)
  }
  const forget = (child: ChildProcess): void => {
    children.delete(child)
    serving.delete(child)
    limits.ended(child)
  }
  /** Starts another worker after a delay. `since` is when the ended one began to serve. */
  const again = ({ code, signal, error }: Ended, since: number): void => {
    if (!hasBegun) {
      if (error) console.error(`A worker cannot be started: ${error.message}.`)
      // One that ends by itself has said why.
      else if (signal) console.error(`Nothing can be served: ${signal} ended a worker before it served.`)
      process.exit(code ?? (signal ? EXIT.platform : EXIT.findings))
    }
    hasty = performance.now() - since > WELL_AFTER ? 0 : hasty + 1
    if (since === Number.POSITIVE_INFINITY) failures++
    if (failures >= MOST_FAILURES && serving.size === 0) giveUp(code ?? signal ?? error?.message)
    const wait = Math.min(FIRST_WAIT * 2 ** Math.max(0, hasty - workers), LONGEST_WAIT)
    if (error) log.error({ cause: error.message, wait }, 'a worker cannot be started; trying again')
    else log.error({ code, signal, wait }, 'a worker ended; starting another')
    setTimeout(begin, wait)
  }
  const end = async (): Promise<never> => {
    await control?.stop()
    await flushed(log)
    process.exit(0)
  }
  const giveUp = (how: number | string | undefined): never => {
    log.flush()
    console.error(`Nothing can be served: ${failures} workers have ended before they served, the last one with ${how}.`)
    process.exit(3)
  }
  for (let index = 0; index < workers; index++) begin()
  reloadOnChange(watch, config, first, log, {
    async take(next) {
      good = next
      for (const child of serving) child.send(good, () => undefined)
    },
    reloaded: isTaken => control?.reloaded(isTaken),
  })
  // When the watch has been closed: a terminal or a service manager may hang up while the workers still finish.
  process.on('SIGHUP', () => undefined)
  onStop(() => {
    isStopping = true
    watch.close()
    for (const child of children) child.kill('SIGTERM')
    if (children.size === 0) void end()
  })
}

/** The valid configuration from the supervisor; undefined without one. */
export async function supervisorConfig(): Promise<Good | undefined> {
  if (!process.connected) return undefined
  const [good] = (await once(process, 'message')) as [Good]
  return received(good)
}

/** Runs with each configuration that the supervisor sends later. SIGHUP is then for the supervisor. */
export function onSupervisorConfig(take: (good: Good) => void): void {
  process.on('message', (message: Good | FromSupervisor) => {
    if ('plan' in message) take(received(message))
  })
  process.on('SIGHUP', () => undefined)
}

function received({ settings, gateway, plan, folder }: Good): Good {
  // A model may have any name, also one that objects inherit.
  const bare = <Value>(given: Record<string, Value>): Record<string, Value> => Object.assign(Object.create(null), given)
  const { upstreams, models, groups } = gateway
  const named = { upstreams: bare(upstreams), models: bare(models), ...(groups && { groups: bare(groups) }) }
  return { plan, folder, settings, gateway: { ...gateway, ...named } }
}

/** Runs when this process is asked to stop, or when its parent has ended. */
export function onStop(stop: () => void): void {
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(event as 'disconnect', stop)
  if (process.send !== undefined && !process.connected) stop()
}
