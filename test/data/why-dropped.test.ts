// `sluice explain` gives a reason for each field that a mapping drops.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as FieldsModule from '../../cli/show/fields.js'
import type * as ProjectModule from '../../codegen/read/project.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { fieldsOfPair, whyDropped } = (await import(built('cli/show/fields.js'))) as typeof FieldsModule
const { readProject } = (await import(built('codegen/read/project.js'))) as typeof ProjectModule

const project = readProject([root])

test.each([...project.mappings].map(([pair, { data }]) => ({ pair, dropped: Object.keys(data.fields.dropped) })))(
  '$pair',
  ({ pair, dropped }) => {
    const fields = fieldsOfPair(project, pair)
    expect(dropped.filter(path => whyDropped(fields, path) === undefined)).toEqual([])
  },
)
