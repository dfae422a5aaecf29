// What the properties are about: the schemas as they are written, the validators as they were compiled, the plan.
// How many runs, and from which seed, is the environment's to say:
//
//   FUZZ_RUNS=20000 FUZZ_SEED=1 npm run fuzz

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { expect } from 'vitest'
import { newAjv } from '../../codegen/read/ajv.js'
import { readProject } from '../../codegen/read/project.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context, Validate } from '../../engine/plan.js'
import { plan } from '../engine/plan.js'
import { CONTEXT as ANY } from '../fixtures.js'

export { plan }

const root = join(import.meta.dirname, '../..')
const load = async (path: string): Promise<unknown> => import(pathToFileURL(join(root, 'generated', path)).href)

export const project = readProject([root])
export const validators = (await load('validators.js')) as Readonly<Record<string, Validate>>
const ajv = newAjv(project.schemas, { allErrors: true })

export type Part = 'request' | 'response' | 'event'

export const schemaOf = (dialect: string, part: Part): { schema: { $ref: string }; base: string } => ({
  schema: { $ref: schemaId(dialect, part) },
  base: schemaId(dialect, part),
})
export const hasSchema = (dialect: string, part: Part): boolean => project.schemas.has(schemaId(dialect, part))

/** What is wrong with a value by a schema of a dialect; nothing where it is right, or where the dialect has no such schema. */
export function wrong(dialect: string, part: Part, value: unknown): string | undefined {
  const check = ajv.getSchema(schemaId(dialect, part))
  if (check === undefined || check(value)) return undefined
  return ajv.errorsText(check.errors, { separator: '\n' })
}

/** A request as a mapping sees it: what its dialect's API reads leniently is said as the schema says it. */
export function seen(dialect: string, request: unknown): Body {
  return (plan.dialects[dialect]?.normaliseRequest?.(structuredClone(request) as Body) ?? request) as Body
}

export const CONTEXT: Context = { ...ANY, task: 'task-1' }

const { FUZZ_RUNS, FUZZ_SEED = '20260101', FUZZ_PATH } = process.env

/** How often a property is tried: as it says itself, or as the environment does for all of them. */
export const runs = (own: number): number => (FUZZ_RUNS === undefined ? own : Math.max(own, Math.ceil(Number(FUZZ_RUNS) / 20)))
export const TIMEOUT = FUZZ_RUNS === undefined ? 60_000 : 0

/** Throws with the shrunk counterexample and with what repeats it. */
export async function holds<Values extends unknown[]>(
  property: fc.IAsyncProperty<Values> | fc.IProperty<Values>,
  numRuns: number,
): Promise<void> {
  const seed = Number(FUZZ_SEED)
  const result = await fc.check(property as fc.IAsyncProperty<Values>, {
    numRuns,
    seed,
    ...(FUZZ_PATH !== undefined && { path: FUZZ_PATH }),
    interruptAfterTimeLimit: FUZZ_RUNS === undefined ? 45_000 : 3_600_000,
    markInterruptAsFailure: false,
  })
  if (!result.failed) return
  const { counterexample, counterexamplePath, errorInstance } = result
  const shown = (counterexample ?? []).map(value => JSON.stringify(value) ?? String(value)).join('\n')
  const cause = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  expect.fail(
    `${cause}\n\nwith ${shown}\n\nagain with FUZZ_SEED=${seed} FUZZ_PATH=${counterexamplePath} and this test alone (vitest run FILE -t NAME)`,
  )
}

/** Fails with both as they are on the wire. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [sorted(actual), sorted(expected)].map(value => JSON.stringify(value))
  if (left !== right) expect.fail(`${what}\n  is        ${left}\n  should be ${right}`)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, item]) => [name, sorted(item)]))
}
