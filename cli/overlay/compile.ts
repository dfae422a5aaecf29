// The process that compiles an overlay, so that the serving process does not wait. It receives its task in the first
// message, answers with one, and ends.

import { pathToFileURL } from 'node:url'
import { HOME } from '../../codegen/home.js'
import { compileOverlay } from '../../codegen/overlay.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { GENERATED, hashOverlay, reasonOf, unreadable } from './inputs.js'
import { inMemory } from './memory.js'
import { prune, unitsIn, writePlan } from './store.js'

/** The overlay to compile. */
export interface Task {
  overlay: string
  /** The possible output folders, in order. */
  stores: readonly string[]
  /** Whether the configuration names the first of them: then a finding reports if it cannot be used. */
  isWanted: boolean
}

/** The result: the address of the plan's module, the errors in the data, or why the folder cannot be written to. */
export type Result = { plan: string } | { findings: readonly Finding[] } | { refused: string } | { error: string }

/** Attempts for an overlay that keeps changing. */
const MOST_TRIES = 5

function compile({ overlay, stores, isWanted }: Task): Result {
  const cache = unitsIn(stores[0] as string)
  for (let tries = 1; ; tries++) {
    const hash = hashOverlay(overlay)
    const files = compileOverlay({ root: HOME, generated: GENERATED }, overlay, cache)
    // Files that changed meanwhile must not be cached under the hash of the earlier ones.
    if (hashOverlay(overlay) !== hash && tries < MOST_TRIES) continue
    for (const store of stores) {
      try {
        const plan = writePlan(store, hash, files)
        prune(store)
        return { plan: pathToFileURL(plan).href }
      } catch (error) {
        if (isWanted) return { refused: reasonOf(error) }
      }
    }
    return { plan: inMemory(files) }
  }
}

function resultOf(task: Task): Result {
  try {
    return compile(task)
  } catch (error) {
    if (error instanceof DataError) return { findings: error.findings }
    const { path, code } = error as NodeJS.ErrnoException
    if (code !== undefined && path !== undefined) return { findings: [unreadable(path, error)] }
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

process.once('message', (task: Task) => {
  process.send?.(resultOf(task), () => process.disconnect())
})
