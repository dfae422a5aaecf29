// The process that compiles an overlay, so that the one that serves does not wait for it. It is told what to compile in its
// first message, answers with one, and ends.

import { pathToFileURL } from 'node:url'
import { compileOverlay } from '../../codegen/overlay.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { HOME } from '../home.js'
import { GENERATED, hashOverlay, reasonOf, unreadable } from './inputs.js'
import { inMemory } from './memory.js'
import { prune, unitsIn, writePlan } from './store.js'

/** What is to be compiled. */
export interface Task {
  overlay: string
  /** Where it may be written, in the order in which they are tried. */
  stores: readonly string[]
  /** Where the first of them was asked for, a finding says what is wrong with it. */
  isWanted: boolean
}

/** What came of it: the address of the plan's module, what is wrong with the data, or why the folder cannot be written to. */
export type Result = { plan: string } | { findings: readonly Finding[] } | { refused: string } | { error: string }

/** So often an overlay that changes meanwhile is begun again. */
const MOST_TRIES = 5

function compile({ overlay, stores, isWanted }: Task): Result {
  const cache = unitsIn(stores[0] as string)
  for (let tries = 1; ; tries++) {
    const hash = hashOverlay(overlay)
    const files = compileOverlay({ root: HOME, generated: GENERATED }, overlay, cache)
    // What changed meanwhile must not be kept under the hash of what was there before.
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
