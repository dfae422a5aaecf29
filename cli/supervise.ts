// Several processes on one port: the kernel shares the connections out. This one reads the configuration, also where it has
// changed, and hands it to the others. A process that dies is begun again with the last configuration that was good; after
// longer and longer where that does not help.

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import { type Control, startControl } from './control.js'
import type { Good } from './prepare.js'
import { reloadOnChange } from './reload.js'
import type { FromSupervisor, ToSupervisor } from './state/state.js'
import { WorkerLimits } from './state/workers.js'
import type { Watch } from './watch.js'

/** What a worker tells. */
export type FromWorker = { listening: true } | ToSupervisor

/** Milliseconds before a worker is begun again: the first time, and at most. */
const FIRST_WAIT = 500
const LONGEST_WAIT = 30_000
/** A worker that served for so long was well: milliseconds. */
const WELL_AFTER = 10_000
/** So many in a row may end without having served, while nobody else serves. */
const MOST_FAILURES = 5

/** `watch` began before `first` was read. */
export async function supervise(config: string, first: Good, workers: number, log: Logger, watch: Watch): Promise<void> {
  const { host } = first.settings
  const port = await freePort(host, first.settings.port).catch(() => undefined)
  if (port === undefined) {
    console.error(`Cannot listen on ${host}:${first.settings.port}`)
    process.exit(2)
  }
  let good = first
  const children = new Set<ChildProcess>()
  const serving = new Set<ChildProcess>()
  // What workers share of limits, where no other state does.
  const limits = new WorkerLimits()
  let hasBegun = false
  let control: Control | undefined
  let isStopping = false
  /** How many have ended in a row soon after they had begun, and how many of them without having served. */
  let hasty = 0
  let failures = 0
  // What one of them seals, another has to open.
  const env = { ...process.env, SLUICE_SEAL: process.env.SLUICE_SEAL || randomBytes(32).toString('hex') }

  const begin = (): void => {
    if (isStopping) return
    const child = fork(process.argv[1] as string, ['start', '--config', config, '--worker', String(port)], { env })
    let since = Number.POSITIVE_INFINITY
    children.add(child)
    const given = good
    child.send(given, () => undefined)
    child.on('message', (message: FromWorker) => {
      if ('limits' in message) {
        const answer: FromSupervisor = { limits: limits.answer(child, message.limits, children.size) }
        child.send(answer, () => undefined)
        return
      }
      // Before it listened, it did not hear of another.
      if (good !== given) child.send(good, () => undefined)
      since = performance.now()
      serving.add(child)
      failures = 0
      if (hasBegun || serving.size < workers) return
      hasBegun = true
      log.info({ url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, workers }, 'listening')
      log.flush()
      control = startControl(first.settings, log)
    })
    child.on('exit', (code, signal) => {
      children.delete(child)
      serving.delete(child)
      limits.ended(child)
      if (isStopping) {
        if (children.size === 0) void end()
      } else if (!hasBegun) {
        process.exit(code ?? 1)
      } else {
        hasty = performance.now() - since > WELL_AFTER ? 0 : hasty + 1
        if (since === Number.POSITIVE_INFINITY) failures++
        if (failures >= MOST_FAILURES && serving.size === 0) giveUp(code ?? signal)
        const wait = Math.min(FIRST_WAIT * 2 ** Math.max(0, hasty - workers), LONGEST_WAIT)
        log.error({ code, signal, wait }, 'a worker ended; starting another')
        setTimeout(begin, wait)
      }
    })
  }
  const end = async (): Promise<never> => {
    await control?.stop()
    process.exit(0)
  }
  const giveUp = (how: number | string | null): never => {
    log.flush()
    console.error(`Nothing can be served: ${failures} workers have ended before they served, the last one with ${how}.`)
    process.exit(3)
  }
  for (let index = 0; index < workers; index++) begin()
  reloadOnChange(watch, config, first, log, async next => {
    good = next
    for (const child of serving) child.send(good, () => undefined)
  })
  onStop(() => {
    isStopping = true
    watch.close()
    for (const child of children) child.kill('SIGTERM')
    if (children.size === 0) void end()
  })
}

/** What the process that began this one knows to be good; nothing where nobody has. */
export async function handedOver(): Promise<Good | undefined> {
  if (!process.connected) return undefined
  const [good] = (await once(process, 'message')) as [Good]
  return received(good)
}

/** Runs with each configuration that this process is handed later. It is not the one that SIGHUP is for. */
export function onHandedOver(take: (good: Good) => void): void {
  process.on('message', (message: Good | FromSupervisor) => {
    if ('plan' in message) take(received(message))
  })
  process.on('SIGHUP', () => undefined)
}

function received({ settings, gateway, plan, folder }: Good): Good {
  // Any name may be one of a model, also one that objects have of themselves.
  const bare = <Value>(given: Record<string, Value>): Record<string, Value> => Object.assign(Object.create(null), given)
  const { upstreams, models, groups } = gateway
  const named = { upstreams: bare(upstreams), models: bare(models), ...(groups && { groups: bare(groups) }) }
  return { plan, folder, settings, gateway: { ...gateway, ...named } }
}

/** Runs where this process is asked to end, or the one that started it is gone. */
export function onStop(stop: () => void): void {
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(event as 'disconnect', stop)
  if (process.send !== undefined && !process.connected) stop()
}

/** A port that nobody listens on: the wanted one, or any for 0. */
function freePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen({ host, port, exclusive: true }, () => {
      const bound = (probe.address() as { port: number }).port
      probe.close(() => resolve(bound))
    })
  })
}
