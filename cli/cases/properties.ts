// What follows from the schemas of both dialects of a mapping, tried with random values: every request that the client's dialect
// allows becomes one that the provider's allows, or is refused by name; every answer of the provider's becomes one of the
// client's, or is a failure. What breaks it is shrunk to the least value that does.

import fc from 'fast-check'
import type { Finding } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context, Dialect, Mapping } from '../../engine/plan.js'
import { arbitraries } from './arbitrary.js'
import { shown } from './differences.js'
import { failureOf } from './failure.js'
import { ajvOf } from './run.js'
import { frozen, seenBy, usualContext, wire } from './values.js'

export interface PropertiesUnderTest {
  project: Project
  /** `<client>-to-<upstream>`. */
  pair: string
  compiled: Mapping
  /** What the two dialects say in one way before a mapping sees it. */
  client: Dialect | undefined
  upstream: Dialect | undefined
  /** How many values are tried for each property. */
  runs: number
  /** What makes them the same ones again. */
  seed: number
}

export interface PropertiesResult {
  pair: string
  /** How many values were tried. */
  tried: number
  findings: Finding[]
}

/** Milliseconds for one property: a schema may have values that take long to make. */
const LONGEST = 20_000

/** Tries the properties of a mapping. */
export function tryProperties(under: PropertiesUnderTest): PropertiesResult {
  const { project, pair, compiled, client, upstream, runs, seed } = under
  const [from, to] = pair.split('-to-') as [string, string]
  const ajv = ajvOf(project)
  const ctx = frozen({ ...usualContext(project.configSchemas), task: 'task-1' }) as Context
  const findings: Finding[] = []
  let tried = 0
  const wrong = (dialect: string, part: string, value: unknown): string | undefined => {
    const check = ajv.getSchema(schemaId(dialect, part))
    return check === undefined || check(value) ? undefined : ajv.errorsText(check.errors, { separator: '; ' })
  }
  const holds = (part: 'request' | 'response', dialect: string, fault: (value: unknown) => string | undefined): void => {
    const id = schemaId(dialect, part)
    if (!project.schemas.has(id)) return
    let failure: string | undefined
    let least: unknown
    try {
      const values = arbitraries(project.schemas, { strange: false }).of({ schema: { $ref: id }, base: id })
      const property = fc.property(values, value => {
        tried++
        const found = fault(value)
        if (found === undefined) return true
        failure = found
        least = value
        return false
      })
      const result = fc.check(property, { numRuns: runs, seed, interruptAfterTimeLimit: LONGEST, markInterruptAsFailure: false })
      if (!result.failed) return
    } catch (error) {
      failure = (error as Error).message
    }
    const { document } = project.mappings.get(pair) as NonNullable<ReturnType<Project['mappings']['get']>>
    findings.push({
      ...document.at([part]),
      rule: 'case/property',
      detail: `${failure ?? 'the result is not valid'}${least === undefined ? '' : `, of ${shown(least)}`}`,
      remedy: 'correct the mapping or a schema, and add a case with this value',
    })
  }
  const seen = seenBy(client?.normaliseRequest)
  const { request, response } = compiled
  if (request !== undefined)
    holds('request', from, value =>
      attempted(() => {
        const body = frozen(seen(value)) as Body
        const refused = compiled.refused?.(body, ctx)
        if (refused !== undefined) return refused.param === '' ? 'a refusal names no field' : undefined
        const parts = compiled.split?.(body, ctx)
        for (const one of Array.isArray(parts) && parts.length > 1 ? (parts as Body[]) : [body]) {
          const made = wire(request(one, ctx, frozen(compiled.carry?.(one, ctx))))
          const fault = wrong(to, 'request', made)
          if (fault !== undefined) return `what is made is not valid by schemas/${to}/request.yaml: ${fault}`
        }
        return undefined
      }),
    )
  if (response !== undefined)
    holds('response', to, value =>
      attempted(() => {
        const answer = frozen(upstream?.normaliseResponse ? upstream.normaliseResponse(structuredClone(value) as Body) : value) as Body
        const carry = frozen(compiled.carry?.({}, ctx))
        if (compiled.failure?.(answer, ctx, carry) !== undefined) return undefined
        const fault = wrong(from, 'response', wire(response(answer, ctx, carry)))
        return fault && `what is made is not valid by schemas/${from}/response.yaml: ${fault}`
      }),
    )
  return { pair, tried, findings }
}

function attempted(run: () => string | undefined): string | undefined {
  try {
    return run()
  } catch (error) {
    return failureOf(error)
  }
}
