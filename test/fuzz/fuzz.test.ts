// A short run of the fuzz test, another one with each seed. `npm run fuzz:http` runs longer.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as FuzzModule from './fuzz.js'

const { fuzz } = (await import(pathToFileURL(join(import.meta.dirname, '../../dist/test/fuzz/fuzz.js')).href)) as typeof FuzzModule
const SEED = Number(process.env.FUZZ_SEED ?? 20260101)

test("invalid requests and answers cause an error in the caller's dialect, and nothing else", {
  timeout: 600_000,
}, async () => {
  const { findings, cases, statuses } = await fuzz({ minutes: 0.15, least: 60, seed: SEED })
  expect(findings).toEqual([])
  expect(Math.min(cases.bodies ?? 0, cases.heads ?? 0, cases.answers ?? 0)).toBeGreaterThan(20)
  expect(statuses[400]).toBeGreaterThan(20)
  expect(statuses[502]).toBeGreaterThan(20)
})
