// Runs the control process beside the gateway: starts it once the gateway listens, restarts it when it dies or is stuck, stops it
// after the workers.

import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Level, Logger } from 'pino'
import { HOME } from '../codegen/home.js'
import { watchBeats } from '../control/beats.js'
import { type ControlSettings, EXIT_REFUSED, type FromControlProcess, type Reloads, type ToControlProcess } from '../control/settings.js'
import { jsonOr } from '../engine/wire/json/parse.js'
import { CONTROL } from './bundled.js'
import { type Ended, startChild } from './children.js'
import type { Settings } from './config/config.js'
import { RUN } from './run-id.js'

/** Milliseconds before it is restarted: if it died, and if it cannot work, as on a full disk. Then until it is killed. */
const AGAIN = 500
const REFUSED_AGAIN = 10_000
const PATIENCE = 10_000

export interface Control {
  /** A changed configuration was taken, or refused. */
  reloaded(isTaken: boolean): void
  /** Stops it after it has stored what it received. */
  stop(): Promise<void>
}

export interface ControlOptions {
  /** Runs if the process cannot work, now or later. */
  onRefused?: (() => void) | undefined
  /** Whether what the process logs goes to `log`, since standard output belongs to the program that embeds the gateway. */
  isEmbedded?: boolean
}

/** Undefined if the settings have no store. */
export function startControl(
  settings: Pick<Settings, 'store' | 'hash'>,
  log: Logger,
  { onRefused, isEmbedded = false }: ControlOptions = {},
): Control | undefined {
  const { store, hash } = settings
  if (store === undefined) return undefined
  const { keyCache, ...rest } = store
  const { version } = JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')) as { version: string }
  let child: ChildProcess | undefined
  let isStopping = false
  let restarts = 0
  let refused = ''
  const reloads: Reloads = { taken: 0, refused: 0 }
  let timer: NodeJS.Timeout | undefined
  const begin = (): void => {
    // V8 flags of the server do not apply: this process holds little memory.
    const mine = startChild(CONTROL, [], { execArgv: [], ...(isEmbedded && { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }) }, again)
    child = mine
    if (mine === undefined) return
    if (mine.stdout) passLines(mine.stdout, log)
    const sent: ControlSettings = {
      ...rest,
      stale: keyCache.stale,
      run: RUN,
      mayWait: onRefused === undefined,
      config: hash,
      version,
      home: HOME,
      restarts,
      reloads,
    }
    mine.send(sent, () => undefined)
    watchBeats(mine, () => log.error('the control process is stuck; ending it'))
    mine.on('message', (message: FromControlProcess) => {
      if (!('refused' in message)) return
      if (message.refused !== refused) log.error({ folder: store.folder }, `no keys of the store and no ledger: ${message.refused}`)
      refused = message.refused
      onRefused?.()
    })
  }
  const again = ({ code, signal, error }: Ended): void => {
    child = undefined
    if (isStopping) return
    if (code === EXIT_REFUSED) {
      // Without a file, the gateway has given up its store.
      if (onRefused === undefined) timer = setTimeout(begin, REFUSED_AGAIN)
      return
    }
    restarts++
    if (error) log.error({ cause: error.message }, 'the control process cannot be started; trying again')
    else log.error({ code, signal }, 'the control process ended; starting another')
    timer = setTimeout(begin, AGAIN)
  }
  begin()
  return {
    reloaded(isTaken) {
      reloads[isTaken ? 'taken' : 'refused']++
      child?.send({ reloads } satisfies ToControlProcess, () => undefined)
    },
    async stop() {
      isStopping = true
      clearTimeout(timer)
      const mine = child
      if (mine === undefined) return
      const ended = new Promise(done => mine.once('close', done))
      mine.kill('SIGTERM')
      const force = setTimeout(() => mine.kill('SIGKILL'), PATIENCE)
      await ended
      clearTimeout(force)
    },
  }
}

/** Logs the lines of a process's log at their level. They are read in any case, so that the process never waits for it. */
function passLines(lines: Readable, log: Logger): void {
  createInterface({ input: lines }).on('line', line => {
    const { level, time, msg, ...more } = Object(jsonOr(line, { msg: line })) as { level?: number; time?: number; msg?: string }
    const label = log.levels.labels[level ?? 0] ?? 'info'
    log[label as Level](more, msg)
  })
}
