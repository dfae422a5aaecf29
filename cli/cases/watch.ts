// Runs a command again whenever the files that it reads change.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { statusOf } from '../../codegen/read/status.js'
import { FOLDERS, filesOf } from '../overlay/inputs.js'

/** Milliseconds between checks. */
const LOOK = 200

/**
 * Runs at once, and again after each change of an overlay's files or of `others`, until the process ends. A change during a
 * run starts the next one.
 */
export async function runOnChange(overlay: string, others: readonly string[], run: () => Promise<void>): Promise<never> {
  let seen = ''
  for (;;) {
    const now = stateOf(overlay, others)
    if (now !== seen) {
      seen = now
      await run()
    }
    await new Promise(done => setTimeout(done, LOOK))
  }
}

function stateOf(overlay: string, others: readonly string[]): string {
  const own = FOLDERS.some(folder => existsSync(join(overlay, folder))) ? filesOf(overlay) : []
  return JSON.stringify(
    [...own, ...others].map(path => {
      const status = statusOf(path)
      return typeof status === 'string' ? [path, status] : [path, String(status.mtimeNs), String(status.size), String(status.ino)]
    }),
  )
}
