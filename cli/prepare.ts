// Prepares a configuration for serving: the overlay's plan and the configuration, linked.

import { dirname, resolve } from 'node:path'
import { DataError, type Finding } from '../codegen/read/findings.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { pairsFor } from '../engine/snapshot/pairs.js'
import { createSnapshot } from '../engine/snapshot/snapshot.js'
import { type Lists, withLists } from './account-lists.js'
import { type Loaded, loadConfig, type ReadOptions, readConfig } from './config/config.js'
import { compileExpressions } from './config/expressions.js'
import { documentsOf } from './documents.js'
import { providersBeside } from './overlay/inputs.js'
import { importFacts, importPlan, loadFacts, locatePlan } from './plan.js'
import { openState, type State } from './state/state.js'
import type { Watch } from './watch.js'

/** A valid configuration, as processes exchange it: the address of its plan's module, and its folder. */
export type Good = Loaded & { plan: string; folder: string }

export type Prepared = Good & { snapshot: Snapshot; state: State }

/** Opens the counters of limits for the configured state. */
export type OpenState = (at: string | undefined) => Promise<State>

/**
 * Reads the overlay and the configuration. Throws a DataError if something is wrong. `isServing`: this process serves
 * meanwhile.
 */
export async function read(config: string, isServing = false, options: ReadOptions = {}): Promise<Good> {
  const address = await locatePlan(config, isServing).catch(async error => {
    if (!(error instanceof DataError)) throw error
    throw new DataError([...error.findings, ...(await findingsWithoutOverlay(config, options))])
  })
  return { ...(await loadConfig(config, await importFacts(address), config, options)), plan: address, folder: dirname(resolve(config)) }
}

/**
 * The same for files that may be written meanwhile. The overlay is read before gateway.yaml, so that they can be of two
 * moments and contradict each other: what changed while it was read is read again before it is refused.
 */
export async function readWatched(config: string, watch: Watch, isServing = false): Promise<Good> {
  for (;;) {
    try {
      return await read(config, isServing)
    } catch (error) {
      if (!(error instanceof DataError) || !watch.hasChanged()) throw error
    }
  }
}

/** Rules about names and facts that an overlay may add. */
const OF_DATA: ReadonlySet<string> = new Set([
  ...['names/route', 'names/page', 'names/fact', 'names/dialect', 'upstream/base', 'upstream/caller'],
  ...['model/patch', 'model/list', 'model/default', 'relay/shadows'],
])

/** The errors of a configuration that an invalid overlay cannot explain. */
async function findingsWithoutOverlay(config: string, options: ReadOptions): Promise<Finding[]> {
  const otherProviders = new Set(providersBeside(config))
  const { findings } = await readConfig(config, await loadFacts(undefined), config, { ...options, otherProviders })
  return findings.filter(({ rule }) => !OF_DATA.has(rule))
}

/** Reads a configuration, and links it. Throws a DataError if something is wrong. */
export async function prepare(config: string, open: OpenState = openState): Promise<Prepared> {
  return prepareFrom(await read(config), open)
}

/** Links a configuration that was read. `lists` are the known models of accounts. */
export async function prepareFrom(good: Good, open: OpenState = openState, lists: Lists = new Map()): Promise<Prepared> {
  const plan = await importPlan(good.plan, (facts, all) => pairsFor(good.gateway, facts, all))
  const state = await open(good.settings.state)
  const expressions = await compileExpressions(good.gateway)
  const snapshot = createSnapshot(plan, withLists(good.gateway, lists), state, expressions)
  if (good.settings.hasReference) snapshot.documents = documentsOf(good.folder)
  return { ...good, state, snapshot }
}
