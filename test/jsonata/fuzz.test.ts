// A short run of the fuzzer with a fixed seed; the environment can set a longer one, as described in fuzz.ts.

import { expect, test } from 'vitest'
import { describeReport, fuzzRounds } from './fuzz.js'

const { FUZZ_RUNS = '3000', FUZZ_SEED = '20260101', FUZZ_PATH, FUZZ_FAILURES = '1' } = process.env

test(`${FUZZ_RUNS} random expressions agree with the interpreter (seed ${FUZZ_SEED})`, { timeout: 0 }, async () => {
  const reports = await fuzzRounds(Number(FUZZ_RUNS), Number(FUZZ_SEED), FUZZ_PATH, Number(FUZZ_FAILURES))
  expect(reports.length, reports.map(describeReport).join('\n\n')).toBe(0)
})
