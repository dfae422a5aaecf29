// `sluice test`: every case of the mappings of a folder.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import { HOME } from '../home.js'
import { rootsOf } from '../overlay.js'
import { loadPlan } from '../plan.js'
import { projectOf } from '../project.js'
import { count, type Told, UsageError } from '../told.js'
import { idleSteps, type MappingResult, runCases } from './run.js'

export interface TestOptions {
  /** Built-in mappings, too. */
  all?: boolean
  /** Only pairs whose name holds one of these. */
  mapping?: string[]
}

/** Runs the cases. Throws a DataError where the data does not compile. */
export async function testFolder(folder: string, options: TestOptions): Promise<Told> {
  const { own, isOurs } = rootsOf(folder)
  const project = projectOf(folder)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const all = options.all === true || isOurs
  const tested = [...project.mappings.keys()].map(pair => ({ pair, ...foldersOf(pair, project, own, all) }))
  const chosen = tested.filter(
    ({ pair, folders, isWhole }) =>
      (folders.length > 0 || isWhole) && (options.mapping === undefined || options.mapping.some(name => pair.includes(name))),
  )
  if (chosen.length === 0 && options.mapping !== undefined)
    throw new UsageError(`No mapping ${options.mapping.join(' or ')} is here: ${tested.map(({ pair }) => pair).join(', ')}.`)
  // Compiled where there is something to run, and where a finding may be in it.
  const plan = chosen.length > 0 || own !== undefined ? await loadPlan(join(folder, 'gateway.yaml')) : undefined
  const results = chosen.map(({ pair, folders, isWhole }) => {
    const compiled = plan?.mappings[pair]
    if (compiled === undefined) throw new Error(`the plan has no mapping ${pair}`)
    return runCases({ project, pair, compiled, normalise: plan?.dialects[compiled.from]?.normaliseRequest, folders, isWhole })
  })
  return toldOf(results, chosen.length === tested.length ? idleSteps(results) : [])
}

/** Folders of a mapping's cases that are to run, and whether they are all of its cases. */
function foldersOf(pair: string, project: Project, own: string | undefined, all: boolean): { folders: string[]; isWhole: boolean } {
  const at = (root: string): string => join(root, 'mappings', pair, 'cases')
  const ownCases = own !== undefined && existsSync(at(own)) ? [at(own)] : []
  const isOwn = own !== undefined && existsSync(join(own, 'mappings', pair, 'mapping.yaml')) && project.mappings.has(pair)
  // The built-in cases of a mapping that is replaced are about what it was.
  if (isOwn) return { folders: [at(own)], isWhole: true }
  return all ? { folders: [at(HOME), ...ownCases], isWhole: true } : { folders: ownCases, isWhole: false }
}

/** `idle`: what is wrong with all of them together. */
function toldOf(results: readonly MappingResult[], idle: readonly Finding[]): Told {
  const findings: Finding[] = [...results.flatMap(result => [...result.cases.flatMap(one => one.findings), ...result.findings]), ...idle]
  const cases = results.flatMap(result => result.cases)
  const failed = cases.filter(one => one.findings.length > 0).length
  const steps = results.reduce((sum, one) => ({ all: sum.all + one.steps.all, fired: sum.fired + one.steps.fired }), { all: 0, fired: 0 })
  const lines = results.map(({ pair, cases, steps, findings }) => {
    const bad = cases.filter(one => one.findings.length > 0).length
    const mark = bad > 0 || findings.length > 0 ? 'FAIL' : 'ok'
    return `${mark.padEnd(4)}  ${pair}: ${count(cases.length, 'case')}${bad > 0 ? `, ${bad} failed` : ''}${steps.all > 0 ? `, ${steps.fired} of ${count(steps.all, 'step')} fired` : ''}`
  })
  lines.push(
    results.length === 0
      ? 'No mapping with cases is here; --all runs the built-in ones.'
      : `${count(results.length, 'mapping')}, ${count(cases.length, 'case')}, ${failed} failed${steps.all > 0 ? `; ${steps.fired} of ${count(steps.all, 'step')} fired` : ''}`,
  )
  return {
    json: {
      cases: cases.length,
      failed,
      steps,
      mappings: results.map(({ pair, cases, steps }) => ({
        pair,
        steps,
        cases: cases.map(({ place, name, known, findings }) => ({
          place,
          name,
          ok: findings.length === 0,
          ...(known !== undefined && { known }),
        })),
      })),
    },
    text: lines.join('\n'),
    findings,
  }
}
