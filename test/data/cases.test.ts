// Every case of every mapping, run by the code of `sluice test`.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as RunModule from '../../cli/cases/run.js'
import type * as PlanModule from '../../cli/plan.js'
import type * as RestModule from '../../codegen/check/rest.js'
import type * as FindingsModule from '../../codegen/read/findings.js'
import type * as ProjectModule from '../../codegen/read/project.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { idleSteps, runCases } = (await import(built('cli/cases/run.js'))) as typeof RunModule
const { loadPlan } = (await import(built('cli/plan.js'))) as typeof PlanModule
const { dropRest } = (await import(built('codegen/check/rest.js'))) as typeof RestModule
const { print } = (await import(built('codegen/read/findings.js'))) as typeof FindingsModule
const { readProject } = (await import(built('codegen/read/project.js'))) as typeof ProjectModule

const project = dropRest(readProject([root]))
const plan = await loadPlan(undefined)

test('the built-in data is read without findings', () => {
  expect(print(project.findings)).toBe('')
  expect(project.mappings.size).toBeGreaterThan(0)
  expect(Object.keys(plan.mappings).sort()).toEqual([...project.mappings.keys()].sort())
})

const results: RunModule.MappingResult[] = []
for (const [pair, compiled] of Object.entries(plan.mappings)) {
  const folders = [join(root, 'mappings', pair, 'cases')]
  const result = runCases({ project, pair, compiled, normalise: plan.dialects[compiled.from]?.normaliseRequest, folders, isWhole: true })
  results.push(result)

  describe(`mappings/${pair}`, () => {
    for (const { place, name, known, findings } of result.cases) {
      const mark = known === undefined ? '' : ` (known ${known})`
      test(`${place} ${name}${mark}`, () => expect(print(findings)).toBe(''))
    }

    test('its cases fire every step of its stream and cover every part', () => expect(print(result.findings)).toBe(''))
  })
}

test('the cases of all mappings together fire every step of the parts', () => expect(print(idleSteps(results))).toBe(''))
