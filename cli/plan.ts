// The plan to run: the built-in one, or one compiled with an operator's overlay. A compiled overlay is cached; a new one is
// compiled in a process of its own.

import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { DataError } from '../codegen/read/findings.js'
import { parseYaml, type SourcePosition } from '../codegen/read/yaml.js'
import type { Plan, PlanFacts, PlanModule } from '../engine/plan.js'
import { COMPILER } from './bundled.js'
import type { Result, Task } from './overlay/compile.js'
import { GENERATED, hashOverlay, overlayOf } from './overlay/inputs.js'
import { findPlan, storeFolders, touch } from './overlay/store.js'

const BUILT_IN = pathToFileURL(join(GENERATED, 'plan.js')).href

/**
 * The plan of a configuration; `pairs` are the mappings that are needed, by default all of them. Throws a DataError for an
 * overlay that does not compile, or that cannot be read or cached.
 */
export async function loadPlan(config: string | undefined, pairs?: readonly string[]): Promise<Plan> {
  return importPlan(await locatePlan(config), pairs && (() => new Set(pairs)))
}

/** The same without its mappings. */
export async function loadFacts(config: string | undefined): Promise<PlanFacts> {
  return importFacts(await locatePlan(config))
}

type PickPairs = (plan: PlanFacts, all: ReadonlySet<string>) => ReadonlySet<string>

/** The plan at an address that `locatePlan` gave, with all mappings or those that `pick` chooses. */
export async function importPlan(address: string, pick: PickPairs = (_, all) => all): Promise<Plan> {
  const { plan, mappings } = (await import(address)) as PlanModule
  const all = new Set(Object.keys(mappings))
  const needed = pick(plan, all)
  const loaded = [...needed].map(async pair => [pair, await (mappings[pair] as PlanModule['mappings'][string])()] as const)
  return { ...plan, mappings: Object.fromEntries(await Promise.all(loaded)), leftOut: new Set([...all].filter(pair => !needed.has(pair))) }
}

/** The same without its mappings. */
export async function importFacts(address: string): Promise<PlanFacts> {
  return ((await import(address)) as PlanModule).plan
}

/**
 * The address of the module with a configuration's plan, compiled if necessary. An address identifies the plan's content,
 * so a changed plan has another one. `isServing`: this process serves meanwhile, so the compiler gets a low priority.
 */
export async function locatePlan(config: string | undefined, isServing = false): Promise<string> {
  const overlay = overlayOf(config)
  if (config === undefined || overlay === undefined) return BUILT_IN
  const hash = hashOverlay(overlay)
  const wanted = wantedCache(config)
  const stores = storeFolders(wanted?.folder)
  for (const store of stores) {
    const plan = findPlan(store, hash)
    if (plan !== undefined) return pathToFileURL(plan).href
  }
  const result = await compileApart({ overlay, stores, isWanted: wanted !== undefined }, isServing)
  if ('plan' in result) return result.plan
  if ('findings' in result) throw new DataError(result.findings)
  if ('error' in result || wanted === undefined) throw new Error('error' in result ? result.error : result.refused)
  throw new DataError([
    {
      ...wanted.position,
      rule: 'cache/folder',
      detail: `compiled overlays cannot be cached there: ${result.refused}`,
      remedy: 'name a folder that the user that runs Sluice owns and can write to, or remove the entry',
    },
  ])
}

/** Marks the folder of a plan as used, so that it is not removed. */
export function keepPlan(address: string): void {
  if (address.startsWith('file:') && address !== BUILT_IN) touch(dirname(fileURLToPath(address)))
}

/** The folder in `cache:`, and its position; undefined if it is absent or not a text, which another check reports. */
function wantedCache(config: string): { folder: string; position: SourcePosition } | undefined {
  try {
    const document = parseYaml(config, readFileSync(config, 'utf8'), [])[0]
    const cache = (document?.value as { cache?: unknown } | null | undefined)?.cache
    if (document === undefined || typeof cache !== 'string') return undefined
    return { folder: resolve(dirname(config), cache), position: document.at(['cache']) }
  } catch {
    return undefined
  }
}

function compileApart(task: Task, isServing: boolean): Promise<Result> {
  return new Promise((done, fail) => {
    const child = fork(COMPILER, [], { execArgv: [] })
    let result: Result | undefined
    child.once('message', (message: Result) => {
      result = message
    })
    child.once('error', fail)
    child.once('exit', (code, signal) => {
      if (result !== undefined) done(result)
      else fail(new Error(`the process that compiles the overlay ended with ${signal ?? code}`))
    })
    if (isServing && child.pid !== undefined) {
      try {
        setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
      } catch {
        // If its priority cannot be lowered, it competes with the gateway.
      }
    }
    child.send(task, error => error && fail(error))
  })
}
