// Compiled expressions against the interpreter, on random expressions and inputs: the same value, the same absence or the
// same error code. What differs is shrunk and printed with its seed.
//
//   FUZZ_RUNS=100000 FUZZ_SEED=1 FUZZ_PATH=… FUZZ_FAILURES=20 npm run fuzz

import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { type Loaded, load } from '../../codegen/jsonata/load.js'
import { bindings, expression, input } from './grammar.js'
import { OutOfFuel, oracle } from './oracle.js'
import { frozen } from './suite.js'
import { attempt, codeOf, type Outcome, showOutcome } from './show.js'

/** How many evaluations of the interpreter an expression may take; one that takes more is not compared. */
const FUEL = 20_000

export interface Difference {
  expression: string
  input: unknown
  bindings: Record<string, unknown>
  expected: string
  actual: string
}

/** What the interpreter does by its own fault, or what can only be compared by its message. */
function isFault(source: string, expected: Outcome): boolean {
  if ('error' in expected) {
    const code = codeOf(expected.error)
    if (expected.error instanceof OutOfFuel || code === undefined) return true // endless, or a crash in JavaScript
    if (code.startsWith('S')) return true // fails to apply a function in part whose source code it cannot read
    // Looks for numbers out of range at members that do not count any more.
    if (code === 'D1001') return true
  }
  // Takes a function's source code for its text.
  return /=>|function \(/.test(showOutcome(expected)) && !source.includes('=>')
}

/** How the compiled expression differs from the interpreter; nothing if it does not. */
export function differenceOf(source: string, given: unknown, variables: Record<string, unknown>): Difference | undefined {
  const copy = (): Record<string, unknown> => structuredClone(variables)
  const parsed = attempt(() => oracle(source, FUEL))
  let expected: Outcome
  let actual: Outcome
  if ('error' in parsed) {
    expected = parsed
    actual = attempt(() => load(source))
    if ('value' in actual) actual = { value: 'no error' }
  } else {
    const run = parsed.value as Loaded
    expected = attempt(() => run(structuredClone(given), copy()))
    if (isFault(source, expected)) return undefined
    actual = attempt(() => load(source)(frozen(structuredClone(given)), frozen(copy()) as Record<string, unknown>))
  }
  const left = showOutcome(expected)
  const right = showOutcome(actual)
  return left === right ? undefined : { expression: source, input: given, bindings: variables, expected: left, actual: right }
}

export interface Report {
  runs: number
  seed: number
  path: string | undefined
  difference: Difference | undefined
}

/** One round: ends at the first difference, shrunk. */
export function fuzz(runs: number, seed: number, path?: string): Report {
  let difference: Difference | undefined
  const agrees = fc.property(expression, fc.array(input, { minLength: 1, maxLength: 2 }), bindings, (source, inputs, variables) => {
    for (const given of inputs) {
      const found = differenceOf(source, given, variables)
      if (found === undefined) continue
      difference = found
      return false
    }
    return true
  })
  const result = fc.check(agrees, { numRuns: runs, seed, ...(path !== undefined && { path }) })
  // What was found last while shrinking is not always what failed last.
  const counterexample = result.counterexample as [string, unknown[], Record<string, unknown>] | null
  if (counterexample) {
    const [source, inputs, variables] = counterexample
    difference = inputs.map(given => differenceOf(source, given, variables)).find(found => found !== undefined)
  }
  return { runs: result.numRuns, seed, path: result.counterexamplePath ?? undefined, difference: result.failed ? difference : undefined }
}

export function describeDifference({ seed, path, difference }: Report): string {
  if (difference === undefined) return `no difference with seed ${seed}`
  return [
    `expression  ${difference.expression}`,
    `input       ${JSON.stringify(difference.input)}`,
    `bindings    ${JSON.stringify(difference.bindings)}`,
    `interpreter ${difference.expected}`,
    `compiled    ${difference.actual}`,
    `again with  FUZZ_SEED=${seed} FUZZ_PATH=${path}`,
  ].join('\n')
}

function main(): void {
  const { FUZZ_RUNS = '100000', FUZZ_SEED, FUZZ_PATH, FUZZ_FAILURES = '1' } = process.env
  let seed = FUZZ_SEED === undefined ? Date.now() % 0x7fffffff : Number(FUZZ_SEED)
  let left = Number(FUZZ_RUNS)
  let failures = 0
  console.log(`${left} runs from seed ${seed}`)
  while (left > 0 && failures < Number(FUZZ_FAILURES)) {
    const report = fuzz(left, seed, FUZZ_PATH)
    left -= report.runs
    if (report.difference === undefined) break
    failures++
    console.log(`\n${describeDifference(report)}`)
    seed++
  }
  console.log(`\n${Number(FUZZ_RUNS) - Math.max(left, 0)} runs, ${failures} differences`)
  process.exitCode = failures > 0 ? 1 : 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
