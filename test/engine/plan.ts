// The plan that codegen made of the data, for tests of the engine's units.

import { importPlan } from '../import-plan.js'

export const plan = await importPlan(new URL('../../generated/plan.js', import.meta.url).href)
