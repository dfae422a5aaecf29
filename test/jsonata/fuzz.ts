// Compiled expressions against the interpreter, on random expressions and inputs: the same value, the same absence or the
// same error code. What differs is shrunk and printed with its seed.
//
//   FUZZ_RUNS=100000 FUZZ_SEED=1 FUZZ_FAILURES=20 npm run fuzz

import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { OutOfFuel, oracle } from '../../cli/cases/oracle.js'
import { type Loaded, load } from '../../codegen/jsonata/load.js'
import type { Shape } from '../../codegen/jsonata/types.js'
import { bindings, expression, input } from './grammar.js'
import { shapeOfAll } from './shapes.js'
import { attempt, codeOf, type Outcome, showOutcome } from './show.js'
import { frozen } from './suite.js'

/** How many evaluations of the interpreter an expression may take; one that takes more is not compared. */
const FUEL = 20_000

export interface Difference {
  expression: string
  input: unknown
  bindings: Record<string, unknown>
  /** The compiler knew the shape of these. */
  known?: unknown[]
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

/**
 * How the compiled expression differs from the interpreter; nothing if it does not. With what a schema would say of the
 * input, the compiler leaves out what cannot be.
 */
export function differenceOf(source: string, given: unknown, variables: Record<string, unknown>, known?: Shape): Difference | undefined {
  const copy = (): Record<string, unknown> => structuredClone(variables)
  const parsed = attempt(() => oracle(source, FUEL))
  let expected: Outcome
  let actual: Outcome
  if ('error' in parsed) {
    expected = parsed
    actual = attempt(() => load(source, known))
    if ('value' in actual) actual = { value: 'no error' }
  } else {
    const run = parsed.value as Loaded
    expected = attempt(() => run(structuredClone(given), copy()))
    if (isFault(source, expected)) return undefined
    actual = attempt(() => load(source, known)(frozen(structuredClone(given)), frozen(copy()) as Record<string, unknown>))
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
  const differences = (source: string, inputs: unknown[], variables: Record<string, unknown>): Difference | undefined => {
    const known = shapeOfAll(inputs)
    for (const given of inputs) {
      const found = differenceOf(source, given, variables)
      if (found) return found
      const typed = differenceOf(source, given, variables, known)
      if (typed) return { ...typed, known: inputs }
    }
    return undefined
  }
  const agrees = fc.property(
    expression,
    fc.array(input, { minLength: 1, maxLength: 2 }),
    bindings,
    (source, inputs, variables) => differences(source, inputs, variables) === undefined,
  )
  const result = fc.check(agrees, { numRuns: runs, seed, ...(path !== undefined && { path }) })
  const report = { runs: result.numRuns, seed, path: result.counterexamplePath ?? undefined, difference: undefined }
  if (!result.failed || result.counterexample === null) return report
  const [source, inputs, variables] = result.counterexample
  return { ...report, difference: differences(source, inputs, variables) }
}

export function describeReport({ seed, path, difference }: Report): string {
  if (difference === undefined) return `no difference with seed ${seed}`
  return [
    `expression  ${difference.expression}`,
    `input       ${JSON.stringify(difference.input)}`,
    `bindings    ${JSON.stringify(difference.bindings)}`,
    ...(difference.known ? [`typed by    ${JSON.stringify(difference.known)}`] : []),
    `interpreter ${difference.expected}`,
    `compiled    ${difference.actual}`,
    `again with  FUZZ_SEED=${seed} FUZZ_PATH=${path} npm run fuzz`,
  ].join('\n')
}

/** Few enough runs that the event loop is not held up for long. */
const ROUND = 5_000

/** Rounds until the runs or the failures are enough; each round has the seed after the last. */
export async function fuzzRounds(runs: number, seed: number, path?: string, failures = 1): Promise<Report[]> {
  const found: Report[] = []
  let left = runs
  for (let round = seed; left > 0 && found.length < failures; round++) {
    const report = fuzz(Math.min(left, ROUND), round, round === seed ? path : undefined)
    left -= report.runs
    if (report.difference !== undefined) found.push(report)
    await setImmediate()
  }
  return found
}
