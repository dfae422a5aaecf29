// The plan that codegen made of the data, for tests of the engine's units.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plan } from '../../engine/plan.js'

const file = join(import.meta.dirname, '..', '..', 'generated', 'plan.js')

export const { plan } = (await import(pathToFileURL(file).href)) as { plan: Plan }
