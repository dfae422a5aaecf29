// The cases of jsonata's own test suite, run over compiled expressions. The suite is beside the repository, not part of it.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { load } from '../../codegen/jsonata/load.js'
import { attempt, codeOf, type Outcome, showOutcome } from './show.js'

export interface Case {
  group: string
  case: string
  expr: string
  data?: unknown
  dataset?: string | null
  bindings?: Record<string, unknown>
  result?: unknown
  undefinedResult?: boolean
  code?: string
  error?: { code: string; message?: string }
  unordered?: boolean
}

export interface Suite {
  datasets: Record<string, unknown>
  cases: Case[]
}

/** What compiled expressions do otherwise, on purpose. */
export const ACCEPTED: readonly { group: string; case: string; reason: string }[] = [
  {
    group: 'tail-recursion',
    case: 'case002',
    reason: "wants an error, since the interpreter's frames run out; compiled code has the right number",
  },
]

/** The suite, or nothing where it is not there. */
export function readSuite(): Suite | undefined {
  let root = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root)
  const path = join(root, '../shared/jsonata-suite.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Suite) : undefined
}

/** Why a case does not pass; nothing if it does. */
export function failureOf(suite: Suite, testcase: Case): string | undefined {
  const given = 'data' in testcase ? testcase.data : suite.datasets[testcase.dataset ?? '']
  const input = frozen(structuredClone(given))
  // The suite's time limits stop what would never end, and the result says whether it was stopped: nothing is measured here.
  const outcome = attempt(() => load(testcase.expr)(input, testcase.bindings ?? {}))
  const accepted = ACCEPTED.some(entry => entry.group === testcase.group && entry.case === testcase.case)
  const failure = difference(testcase, outcome)
  if (accepted) return failure === undefined ? 'no longer differs: take it out of the accepted ones' : undefined
  return failure
}

function difference(testcase: Case, outcome: Outcome): string | undefined {
  const code = testcase.code ?? testcase.error?.code
  if (code !== undefined) {
    if ('value' in outcome || codeOf(outcome.error) !== code) return `wants error ${code}, got ${showOutcome(outcome)}`
    const message = testcase.error?.message
    const got = (outcome.error as Error).message
    return message !== undefined && got !== message ? `wants the message ${message}, got ${got}` : undefined
  }
  if ('error' in outcome) return `wants ${wanted(testcase)}, got ${showOutcome(outcome)}`
  if (testcase.undefinedResult) return outcome.value === undefined ? undefined : `wants nothing, got ${showOutcome(outcome)}`
  const result = outcome.value === undefined ? undefined : (JSON.parse(JSON.stringify(outcome.value)) as unknown)
  const isSame = testcase.unordered
    ? isDeepStrictEqual(sorted(result), sorted(testcase.result))
    : isDeepStrictEqual(result, testcase.result)
  return isSame ? undefined : `wants ${wanted(testcase)}, got ${showOutcome(outcome)}`
}

function wanted(testcase: Case): string {
  return testcase.undefinedResult ? 'nothing' : JSON.stringify(testcase.result)
}

function sorted(value: unknown): unknown {
  return Array.isArray(value) ? value.map(item => JSON.stringify(item)).sort() : value
}

/** An expression that changes its input is found out. */
export function frozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) frozen(item)
    Object.freeze(value)
  }
  return value
}

function main(): void {
  const suite = readSuite()
  if (suite === undefined) {
    console.log('jsonata-suite.json is not there: nothing run')
    return
  }
  let failed = 0
  for (const testcase of suite.cases) {
    const failure = failureOf(suite, testcase)
    if (failure === undefined) continue
    failed++
    console.log(`${testcase.group}/${testcase.case}: ${testcase.expr}\n  ${failure.slice(0, 500)}`)
  }
  for (const { group, case: name, reason } of ACCEPTED) console.log(`accepted: ${group}/${name}: ${reason}`)
  console.log(`${suite.cases.length - failed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
