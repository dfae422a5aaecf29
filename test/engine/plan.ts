// The plan that codegen made of the data, for tests of the engine's units.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as PlanModule from '../../cli/plan.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', path)).href
export const { importPlan } = (await import(built('dist/cli/plan.js'))) as typeof PlanModule

export const plan = await importPlan(built('generated/plan.js'))
