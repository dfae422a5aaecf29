// Checked-in files that are generated from the data are up to date.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as GenerateModule from '../../codegen/compile.js'
import type * as PagesModule from '../../codegen/print/pages.js'
import type * as RulesModule from '../../codegen/print/rules-md.js'
import { MAIN } from '../command.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { generate } = (await import(built('codegen/compile.js'))) as typeof GenerateModule
const { printRules } = (await import(built('codegen/print/rules-md.js'))) as typeof RulesModule
const { printPages } = (await import(built('codegen/print/pages.js'))) as typeof PagesModule

test('the pages of docs/reference are up to date, and there are no others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const pages = printPages(generate([root], folder))
  rmSync(folder, { recursive: true })
  const reference = join(root, 'docs', 'reference')
  // The page of the commands is made by the commands.
  expect(readdirSync(reference).sort()).toEqual([...pages.keys(), 'cli.md'].sort())
  for (const [name, text] of pages) expect(readFileSync(join(reference, name), 'utf8'), name).toBe(text)
})

test('the pages of docs/rules are up to date, and there are no others', () => {
  const pages = printRules()
  const folder = join(root, 'docs', 'rules')
  const there = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.md'))
  expect(there.sort()).toEqual([...pages.keys()].sort())
  for (const [name, text] of pages) expect(readFileSync(join(folder, name), 'utf8'), name).toBe(text)
})

test('docs/reference/cli.md is what `sluice reference` prints', () => {
  const printed = execFileSync(process.execPath, [MAIN, 'reference'], { encoding: 'utf8' })
  expect(readFileSync(join(root, 'docs/reference/cli.md'), 'utf8')).toBe(printed)
})
