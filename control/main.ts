// The process itself: begun by whoever starts the workers, told what to do over the channel between them, and ended when that
// one is gone.

import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createLog } from './log.js'
import { type ControlProcess, runControl } from './process.js'
import { type ControlSettings, EXIT_REFUSED, type FromControlProcess } from './settings.js'

/** A machine that has too much to do lets the ledger lag, not the streams. */
const PRIORITY = 5
/** Milliseconds for workers to hand over their last records. */
const LAST_RECORDS = 2_000

const tell = (message: FromControlProcess): void => void process.send?.(message, () => undefined)

async function main(): Promise<void> {
  // A key that is pressed in a terminal reaches every process; the workers need this one to the end.
  process.on('SIGINT', () => undefined)
  const log = createLog()
  const [settings] = (await once(process, 'message')) as [ControlSettings]
  let control: ControlProcess
  try {
    control = await runControl(settings, log)
  } catch (error) {
    tell({ refused: refusal(error, settings) })
    setTimeout(() => process.exit(EXIT_REFUSED), 50)
    return
  }
  tell({ ready: true, ...(control.adminUrl !== undefined && { admin: control.adminUrl }) })
  log.info({ folder: settings.folder, admin: control.adminUrl }, 'control process is there')
  try {
    setPriority(PRIORITY)
  } catch {
    // Not allowed here: it runs all the same.
  }
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    const until = Date.now() + LAST_RECORDS
    while (control.workers.all().length > 0 && Date.now() < until) await new Promise(done => setTimeout(done, 20))
    await control.close()
    process.exit(0)
  }
  control.keeper.onRefused = error => {
    log.error({ cause: String(error) }, 'the store cannot be used')
    void control.close().then(() => process.exit(EXIT_REFUSED))
  }
  process.on('SIGTERM', () => void stop())
  process.on('disconnect', () => void stop())
}

function refusal(error: unknown, settings: ControlSettings): string {
  const text = error instanceof Error ? error.message : String(error)
  if (/locked|busy/i.test(text)) return `Another instance uses the folder ${settings.folder}: give each its own (store: { folder: … }).`
  return text
}

await main()
