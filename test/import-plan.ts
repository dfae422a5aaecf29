// The built function that imports a plan, for tests of plans that were made for them.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as PlanModule from '../cli/plan.js'

const built = pathToFileURL(join(import.meta.dirname, '..', 'dist', 'cli', 'plan.js')).href
export const { importPlan } = (await import(built)) as typeof PlanModule
