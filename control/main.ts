// The control process: started by the supervisor of the workers, which sends the settings over a channel; it ends when the
// supervisor has ended.

import { once } from 'node:events'
import { setPriority } from 'node:os'
import { beat, EVERY, MISSING } from './beats.js'
import { ignoreDebugger } from './debugger.js'
import { createLog, flushed } from './log.js'
import { type ControlProcess, runControl } from './process.js'
import { type ControlSettings, EXIT_REFUSED, type FromControlProcess, type ToControlProcess } from './settings.js'

/** On a busy machine the ledger may lag, but not the streams. */
const PRIORITY = 5
/** Milliseconds for workers to send their last records. */
const LAST_RECORDS = 2_000
/** Milliseconds for the rest of its end, if the store does not answer. */
const PATIENCE = 10_000

const tell = (message: FromControlProcess): void => void process.send?.(message, () => undefined)

async function main(): Promise<void> {
  // Ctrl-C in a terminal reaches every process, but the workers need this one to the end.
  process.on('SIGINT', () => undefined)
  ignoreDebugger()
  const log = createLog('info', 'control')
  const ended = supervisorEnded()
  const message = await Promise.race([once(process, 'message'), ended])
  if (message === undefined) process.exit(0)
  const [settings] = message as [ControlSettings]
  let control: ControlProcess | undefined
  // It may wait for the folder when its supervisor ends.
  void ended.then(() => control ?? process.exit(0))
  try {
    control = await runControl(settings, log)
  } catch (error) {
    tell({ refused: error instanceof Error ? error.message : String(error) })
    setTimeout(() => process.exit(EXIT_REFUSED), 50)
    return
  }
  process.on('message', ({ reloads }: ToControlProcess) => {
    settings.reloads = reloads
  })
  beat()
  tell({ ready: true, ...(control.adminUrl !== undefined && { admin: control.adminUrl }) })
  log.info({ folder: settings.folder, admin: control.adminUrl }, 'the control process is ready')
  try {
    setPriority(PRIORITY)
  } catch {
    // If its priority cannot be lowered, it still runs.
  }
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    const until = Date.now() + LAST_RECORDS
    // Workers whose supervisor was killed end what they have begun, for which `grace` gives them time, and nobody waits for them first,
    // or ends one that is stuck.
    if (!process.connected) setInterval(() => control.workers.endStuck(MISSING), EVERY)
    while (control.workers.all().length > 0 && (!process.connected || Date.now() < until)) await new Promise(done => setTimeout(done, 20))
    setTimeout(() => process.exit(0), PATIENCE).unref()
    await control.close()
    await flushed(log)
    process.exit(0)
  }
  control.keeper.onRefused = error => {
    log.error({ cause: String(error) }, 'cannot open the store')
    void control
      .close()
      .then(() => flushed(log))
      .then(() => process.exit(EXIT_REFUSED))
  }
  void ended.then(stop)
}

/** Heard from the first moment: a supervisor that is killed while the store is opened tells it only once. */
function supervisorEnded(): Promise<undefined> {
  return new Promise(resolve => {
    const end = (): void => resolve(undefined)
    // Whoever finds the supervisor dead may tell it, too, while it waits for the workers.
    process.on('SIGTERM', end)
    process.once('disconnect', end)
  })
}

await main()
