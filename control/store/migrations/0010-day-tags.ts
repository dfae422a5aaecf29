// Usage by tags has a rollup of its own: if there are many keys, `day_all` has a hundred times as many rows as there are tags and models.

import type { Migration } from 'kysely'
import type { Engine } from '../engine.js'
import { rollupOf } from './rollup.js'

export function dayTags(engine: Engine): Migration {
  return rollupOf(engine, 'day_tags', 'day_all', ['day', 'tags', 'model', 'target', 'part'])
}
