// Files that are made from the data and checked in are what the data makes.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as GenerateModule from '../../codegen/compile.js'
import type * as PagesModule from '../../codegen/print/pages.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { generate } = (await import(built('codegen/compile.js'))) as typeof GenerateModule
const { printPages } = (await import(built('codegen/print/pages.js'))) as typeof PagesModule

test('the pages of docs/reference are fresh, and none is left over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const pages = printPages(generate([root], folder))
  rmSync(folder, { recursive: true })
  const reference = join(root, 'docs', 'reference')
  expect(readdirSync(reference).sort()).toEqual([...pages.keys()].sort())
  for (const [name, text] of pages) expect(readFileSync(join(reference, name), 'utf8'), name).toBe(text)
})
