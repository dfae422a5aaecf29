// `sluice test`: runs every case of the mappings in a folder, its exchanges and its scenarios.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../codegen/home.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import type { Plan } from '../../engine/plan.js'
import { type CommandResult, count, UsageError } from '../output.js'
import { folderOf, rootsOf } from '../overlay.js'
import { loadPlan } from '../plan.js'
import { projectOf } from '../project.js'
import type { PropertiesResult } from './properties.js'
import { type CaseResult, idleSteps, type MappingResult, runCases } from './run.js'

export interface TestOptions {
  /** Also built-in mappings. */
  all?: boolean
  /** Random values that each property of a mapping is tried with; absent: none is. */
  properties?: number
  /** What makes them the same ones again. */
  seed?: number
  /** Only pairs whose name holds one of these. */
  mapping?: string[]
}

/** Runs the cases. Throws a DataError if the data does not compile. */
export async function testFolder(path: string, options: TestOptions): Promise<CommandResult> {
  const folder = folderOf(path)
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
    throw new UsageError(`No mapping ${options.mapping.join(' or ')} exists: ${tested.map(({ pair }) => pair).join(', ')}.`)
  // Compiles only if there are cases to run or data that may have findings.
  const pairs = chosen.map(({ pair }) => pair)
  const plan = chosen.length > 0 || own !== undefined ? await loadPlan(join(folder, 'gateway.yaml'), pairs) : undefined
  const results = chosen.map(({ pair, folders, isWhole }) => {
    const compiled = plan?.mappings[pair]
    if (compiled === undefined) throw new Error(`the plan has no mapping ${pair}`)
    return runCases({ project, pair, compiled, normalise: plan?.dialects[compiled.from]?.normaliseRequest, folders, isWhole })
  })
  // What runs a gateway is loaded only for these folders.
  const has = (name: string): boolean => options.mapping === undefined && existsSync(join(folder, name))
  const exchanges = has('cases') ? await (await import('./exchanges.js')).runExchanges(folder, project) : undefined
  const scenarios = has('scenarios') ? await (await import('./scenarios.js')).runScenarios(folder, project) : undefined
  const properties =
    options.properties === undefined || plan === undefined ? [] : await tried(chosen, plan, project, options.properties, options.seed)
  return resultOf(
    results,
    { exchanges, scenarios },
    [...properties.flatMap(one => one.findings), ...(chosen.length === tested.length ? idleSteps(results) : [])],
    properties,
  )
}

/** The properties of the mappings that are the folder's own, or of all of them where those are tested. */
async function tried(
  chosen: readonly { pair: string; isWhole: boolean }[],
  plan: Plan,
  project: Project,
  runs: number,
  seed = 20260101,
): Promise<PropertiesResult[]> {
  // What makes random values is loaded only for this.
  const { tryProperties } = await import('./properties.js')
  return chosen.flatMap(({ pair, isWhole }) => {
    const compiled = plan.mappings[pair]
    if (!isWhole || compiled === undefined) return []
    const [client, upstream] = [plan.dialects[compiled.from], plan.dialects[compiled.to]]
    return [tryProperties({ project, pair, compiled, client, upstream, runs, seed })]
  })
}

/** The folders of a mapping's cases to run, and whether they are all of its cases. */
function foldersOf(pair: string, project: Project, own: string | undefined, all: boolean): { folders: string[]; isWhole: boolean } {
  const at = (root: string): string => join(root, 'mappings', pair, 'cases')
  const ownCases = own !== undefined && existsSync(at(own)) ? [at(own)] : []
  const isOwn = own !== undefined && existsSync(join(own, 'mappings', pair, 'mapping.yaml')) && project.mappings.has(pair)
  // The built-in cases of a replaced mapping do not apply to its replacement.
  if (isOwn) return { folders: [at(own)], isWhole: true }
  return all ? { folders: [at(HOME), ...ownCases], isWhole: true } : { folders: ownCases, isWhole: false }
}

/** `more`: findings about all mappings together. */
function resultOf(
  mappings: readonly MappingResult[],
  { exchanges, scenarios }: Record<'exchanges' | 'scenarios', MappingResult | undefined>,
  more: readonly Finding[],
  properties: readonly PropertiesResult[],
): CommandResult {
  const results = [...mappings, ...(exchanges ? [exchanges] : []), ...(scenarios ? [scenarios] : [])]
  const findings: Finding[] = [...results.flatMap(result => [...result.cases.flatMap(one => one.findings), ...result.findings]), ...more]
  const cases = results.flatMap(result => result.cases)
  const failed = cases.filter(one => one.findings.length > 0).length
  const steps = results.reduce((sum, one) => ({ all: sum.all + one.steps.all, fired: sum.fired + one.steps.fired }), { all: 0, fired: 0 })
  const lines = results.map(({ pair, cases, steps, findings }) => {
    const bad = cases.filter(one => one.findings.length > 0).length
    const mark = bad > 0 || findings.length > 0 ? 'FAIL' : 'ok'
    return `${mark.padEnd(4)}  ${pair}: ${count(cases.length, 'case')}${bad > 0 ? `, ${bad} failed` : ''}${steps.all > 0 ? `, ${steps.fired} of ${count(steps.all, 'step')} fired` : ''}`
  })
  for (const { pair, tried, findings: broken } of properties)
    lines.push(`${broken.length > 0 ? 'FAIL' : 'ok  '}  ${pair}: ${count(tried, 'random value')}`)
  lines.push(
    results.length === 0
      ? 'Neither a mapping with cases nor a folder cases/ or scenarios/ is here; --all runs the built-in ones.'
      : `${count(mappings.length, 'mapping')}, ${count(cases.length, 'case')}, ${failed} failed${steps.all > 0 ? `; ${steps.fired} of ${count(steps.all, 'step')} fired` : ''}`,
  )
  return {
    json: {
      cases: cases.length,
      failed,
      steps,
      mappings: mappings.map(({ pair, cases, steps }) => ({ pair, steps, cases: cases.map(jsonOf) })),
      ...(properties.length > 0 && {
        properties: properties.map(({ pair, tried, findings: broken }) => ({ pair, tried, ok: broken.length === 0 })),
      }),
      ...(exchanges && { exchanges: exchanges.cases.map(jsonOf) }),
      ...(scenarios && { scenarios: scenarios.cases.map(jsonOf) }),
    },
    text: lines.join('\n'),
    findings,
  }
}

function jsonOf({ place, name, known, findings }: CaseResult): object {
  return { place, name, ok: findings.length === 0, ...(known !== undefined && { known }) }
}
