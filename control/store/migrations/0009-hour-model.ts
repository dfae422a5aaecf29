// Usage by hour without keys has a rollup of its own: if there are many keys, `hour` has a row for almost every exchange.

import type { Migration } from 'kysely'
import type { Engine } from '../engine.js'
import { rollupOf } from './rollup.js'

export function hourModel(engine: Engine): Migration {
  return rollupOf(engine, 'hour_model', 'hour', ['hour', 'model', 'target', 'part'])
}
