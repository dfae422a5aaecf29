// `sluice start`: serves until SIGTERM or SIGINT. Exit codes: 0 clean stop, 1 bad configuration, 2 cannot listen.

import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import pino from 'pino'
import { DataError } from '../codegen/findings.js'
import { createWorld } from '../engine/world.js'
import { usualCapacity } from './capacity.js'
import type { Settings } from './config.js'
import { defaultConfig } from './defaults.js'
import { type Gateway, prepare, run } from './gateway.js'
import { loadPlan } from './plan.js'

export interface StartOptions {
  config?: string
  workers?: string
  /** Set in the processes that `--workers` starts. */
  worker?: string
}

export async function start(options: StartOptions): Promise<void> {
  if (options.config === undefined) return demonstrate()
  let prepared: Awaited<ReturnType<typeof prepare>>
  try {
    prepared = await prepare(options.config)
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    console.error(error.message)
    process.exitCode = 1
    return
  }
  const { settings, world } = prepared
  const workers = options.workers === undefined ? settings.workers : Number(options.workers)
  if (!Number.isInteger(workers) || workers < 1) {
    console.error(`--workers takes a whole number from 1, not ${String(options.workers)}`)
    process.exitCode = 1
    return
  }
  if (workers > 1 && options.worker === undefined) {
    await world.close()
    return supervise(options.config, settings, workers)
  }
  const log = createLog(settings.logLevel)
  const listen = options.worker === undefined ? settings : { ...settings, port: Number(options.worker) }
  await serveUntilStopped(
    async () => run({ config: options.config, settings: listen, world, log, isShared: options.worker !== undefined }),
    settings,
    log,
    options.worker === undefined,
  )
}

function createLog(level: string): pino.Logger {
  // Lines are gathered and written together; what is left is written at the end.
  return pino({ level, base: null }, pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 200 }))
}

async function serveUntilStopped(
  open: () => Promise<Gateway>,
  settings: Settings,
  log: pino.Logger,
  isAlone: boolean,
): Promise<Gateway | undefined> {
  let gateway: Gateway
  try {
    gateway = await open()
  } catch (error) {
    console.error(`Cannot listen on ${settings.host}:${settings.port}: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(2)
  }
  if (isAlone) log.info({ url: gateway.url }, 'listening')
  // Nobody may be there any more to hear it.
  else process.send?.('listening', () => undefined)
  log.flush()
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    await gateway.close()
    await new Promise<void>(done => log.flush(() => done()))
    process.exit(0)
  }
  onStop(() => void stop())
  return gateway
}

/** Runs where this process is asked to end, or the one that started it is gone. */
function onStop(stop: () => void): void {
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(event as 'disconnect', stop)
  if (process.send !== undefined && !process.connected) stop()
}

/** Several processes on one port: the kernel shares the connections out. A process that dies is started again. */
async function supervise(config: string, settings: Settings, workers: number): Promise<void> {
  const port = await freePort(settings.host, settings.port).catch(() => undefined)
  if (port === undefined) {
    console.error(`Cannot listen on ${settings.host}:${settings.port}`)
    process.exit(2)
  }
  const log = createLog(settings.logLevel)
  const children = new Set<ReturnType<typeof fork>>()
  let isStopping = false
  let listening = 0
  // What one of them seals, another has to open.
  const env = { ...process.env, SLUICE_SEAL: process.env.SLUICE_SEAL || randomBytes(32).toString('hex') }
  const begin = (): void => {
    if (isStopping) return
    const child = fork(process.argv[1] as string, ['start', '--config', config, '--worker', String(port)], { env })
    children.add(child)
    child.on('message', () => {
      listening++
      if (listening === workers) {
        log.info({ url: `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`, workers }, 'listening')
        log.flush()
      }
    })
    child.on('exit', code => {
      children.delete(child)
      if (isStopping) {
        if (children.size === 0) process.exit(0)
      } else if (listening < workers) {
        process.exit(code ?? 1)
      } else {
        log.error({ code }, 'a worker ended; starting another')
        setTimeout(begin, 500)
      }
    })
  }
  for (let index = 0; index < workers; index++) begin()
  const stop = (): void => {
    isStopping = true
    for (const child of children) child.kill('SIGTERM')
  }
  onStop(stop)
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

/** Without a file: the simulator as provider, a demo key, and a line to try. */
async function demonstrate(): Promise<void> {
  const [{ startSimulator }, plan] = await Promise.all([import('./simulator/server.js'), loadPlan(undefined)])
  const simulator = await startSimulator({ listen: '127.0.0.1:0' })
  const { config, key } = defaultConfig(plan, simulator.url)
  const settings: Settings = {
    host: '127.0.0.1',
    port: Number(process.env.PORT ?? 8080),
    grace: 5_000,
    workers: 1,
    logLevel: 'info',
    isAccessLogged: true,
    capacity: usualCapacity(),
  }
  const log = createLog(settings.logLevel)
  const gateway = await serveUntilStopped(
    () => run({ config: undefined, settings, world: createWorld(plan, config), log, isShared: false }),
    settings,
    log,
    true,
  )
  if (gateway === undefined) return
  const routes = plan.routes
    .filter(route => route.fail === undefined)
    .map(route => `  ${(route.methods.join(',') || 'any').padEnd(9)}${route.paths.join(', ')}`)
  console.log(`
Sluice serves, on ${gateway.url}:
${routes.join('\n')}

Models: ${Object.keys(config.models).join(', ')}
Demo key: ${key}

Try it:
curl ${gateway.url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"model":"sim","messages":[{"role":"user","content":"Hello"}]}'
`)
}
