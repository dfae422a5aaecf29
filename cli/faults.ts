// `sluice faults`: runs a gateway with failing upstreams, in every way that the scenarios define, and clients of every
// dialect. Exit codes: 0 all passed, 1 some failed, or the configuration is wrong.

import { HOME } from '../codegen/home.js'
import { DataError } from '../codegen/read/findings.js'
import { builtInCases, type Case, ownCases, pairwise } from './faults/cases.js'
import { print } from './faults/report.js'
import { type Result, runCases } from './faults/run.js'
import { readScenarios } from './faults/scenarios.js'
import { loadPlan } from './plan.js'
import { dialects } from './simulator/dialects.js'

export interface FaultOptions {
  /** A configuration in place of the built-in models. */
  config?: string
  /** Only cases whose id contains this: `<scenario>.<client>.<mode>.<upstream or model>.<model>`. */
  only?: string
  /** Pairs of scenario and client, and of scenario and upstream, but not every combination. */
  quick?: boolean
  /** Prints one JSON document. */
  json?: boolean
}

/** Runs the suite and prints its table; the last line is `N passed, M failed`. */
export async function faults({ config, only = '', quick = false, json = false }: FaultOptions): Promise<void> {
  let cases: Case[]
  try {
    const all = await casesOf(config)
    cases = (quick ? pairwise(all) : all).filter(({ id }) => id.includes(only))
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    console.error(error.message)
    process.exitCode = 1
    return
  }
  const results = await runCases(cases, progressOf(cases.length))
  const failed = results.filter(({ findings }) => findings.length > 0)
  if (json) console.log(JSON.stringify(documentOf(results, failed), null, 2))
  else console.log(print(results))
  process.exitCode = failed.length > 0 || results.length === 0 ? 1 : 0
}

/** Shows a person at a terminal how far the suite is; the line goes away at the end. */
function progressOf(all: number): ((result: Result) => void) | undefined {
  if (!process.stderr.isTTY) return undefined
  let done = 0
  return () => {
    done++
    process.stderr.write(done < all ? `\r${done} of ${all} cases` : '\r\u001b[K')
  }
}

function documentOf(results: readonly Result[], failed: readonly Result[]): object {
  return {
    ok: failed.length === 0 && results.length > 0,
    findings: [],
    passed: results.length - failed.length,
    failed: failed.map(one => ({ id: one.case.id, findings: one.findings })),
  }
}

/** The cases of a configuration, or the built-in ones. Throws a DataError for invalid data or an invalid file. */
export async function casesOf(config: string | undefined): Promise<Case[]> {
  const scenarios = readScenarios(HOME)
  const plan = await loadPlan(config)
  const known = dialects(HOME)
  return config === undefined ? builtInCases(plan, known, scenarios) : ownCases(config, plan, known, scenarios)
}

export type { Case, Result }
export { pairwise, print, runCases }
