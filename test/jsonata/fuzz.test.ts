// A small round of the fuzzer with a fixed seed. `npm run fuzz` runs bigger ones.

import { expect, test } from 'vitest'
import { describeDifference, fuzz } from './fuzz.js'

const SEED = 20_260_101
const RUNS = 3_000

test(`${RUNS} random expressions agree with the interpreter (seed ${SEED})`, { timeout: 60_000 }, () => {
  const report = fuzz(RUNS, SEED)
  expect(report.difference, describeDifference(report)).toBeUndefined()
})
