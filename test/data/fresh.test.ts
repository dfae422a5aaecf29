// Files that are made from the data and checked in are what the data makes.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as LedgerModule from '../../codegen/check/ledger.js'
import type * as GenerateModule from '../../codegen/compile.js'
import type * as RoutesModule from '../../codegen/print/routes-md.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { generate } = (await import(built('codegen/compile.js'))) as typeof GenerateModule
const { printFields } = (await import(built('codegen/check/ledger.js'))) as typeof LedgerModule
const { printRoutes } = (await import(built('codegen/print/routes-md.js'))) as typeof RoutesModule

test('ROUTES.md and FIELDS.md are fresh', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const project = generate([root], folder)
  rmSync(folder, { recursive: true })
  expect(readFileSync(join(root, 'ROUTES.md'), 'utf8')).toBe(printRoutes(project))
  expect(readFileSync(join(root, 'FIELDS.md'), 'utf8')).toBe(printFields(project.ledger))
})
