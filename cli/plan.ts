// The plan to run: the built-in one, or one made with an operator's own folders laid over it.

import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plan } from '../engine/plan.js'
import { HOME } from './home.js'

const FOLDERS = ['routes', 'schemas', 'mappings', 'providers', 'models']

/** Throws a DataError for data that does not compile; what `isMade` is what compiled the last time. */
export async function loadPlan(configPath: string | undefined, isMade = false): Promise<Plan> {
  const own = configPath === undefined ? undefined : dirname(resolve(configPath))
  const isOverlaid = own !== undefined && own !== HOME && FOLDERS.some(folder => existsSync(join(own, folder)))
  let folder = join(HOME, 'generated')
  if (isOverlaid) {
    folder = join(own, '.sluice', 'generated')
    if (!isMade) (await import('../codegen/compile.js')).generate([HOME, own], folder)
  }
  const { plan } = (await import(`${pathToFileURL(join(folder, 'plan.js')).href}?at=${isOverlaid ? Date.now() : 0}`)) as { plan: Plan }
  return plan
}
