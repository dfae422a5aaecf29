// Checks that each step of a stream can run: the kinds of events that it is for exist, and its condition can be true.

import type { Finding } from '../read/findings.js'
import { sayingOf } from '../read/parts.js'
import { type Entry, type MappingData, type Project, type Step, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { useOneOf } from '../read/suggest.js'
import type { Pointer } from '../read/yaml.js'

/** Conditions that are false for every event. */
const IS_NEVER = /^(?:false|null|0|''|"")$/

export function checkSteps(mapping: Entry<MappingData>, project: Project): void {
  const { stream } = mapping.data
  if (stream === undefined) return
  const { to } = sidesOf(mapping.name)
  const known = kindsIn(to, project)
  const find = (pointer: Pointer, rule: string, detail: string, remedy: string): void => {
    const said = sayingOf(mapping, project.parts, pointer)
    const finding: Finding = { ...said.document.at(said.pointer), rule, detail, remedy }
    const isFound = project.findings.some(
      one => one.rule === rule && one.file === finding.file && one.line === finding.line && one.column === finding.column,
    )
    if (!isFound) project.findings.push(finding)
  }
  const visit = (steps: readonly Step[], pointer: Pointer, around: readonly string[]): void => {
    for (const [index, step] of steps.entries()) {
      const here = [...pointer, index]
      const kinds = kindsOf(step).filter(kind => kind !== 'done')
      const unknown = known && kinds.find(kind => !known.includes(kind))
      if (known && unknown !== undefined)
        find(
          Array.isArray(step.on) ? [...here, 'on', step.on.indexOf(unknown)] : [...here, 'on'],
          'mapping/on',
          `no event of ${to} is of the kind "${unknown}"`,
          `${useOneOf(known, unknown)}, or add it to the schema`,
        )
      else if (around.length > 0 && kinds.length > 0 && !kinds.some(kind => around.includes(kind)))
        find([...here, 'on'], 'mapping/on', `the loop around this step is for ${around.join(', ')} alone`, 'use one of these kinds')
      if (step.when !== undefined && IS_NEVER.test(step.when.trim()))
        find([...here, 'when'], 'mapping/when', 'the condition is never true', 'correct it, or remove the step')
      visit(step.steps ?? [], [...here, 'steps'], kinds.length > 0 ? kinds : around)
    }
  }
  visit(stream.steps, ['stream', 'steps'], [])
}

/** The kinds of a dialect's events that its schema lists; undefined if it lists none. */
function kindsIn(dialect: string, { formats, schemas }: Project): string[] | undefined {
  const member = formats.get(dialect)?.data.stream?.event_line
  const { union } = Object(schemas.get(schemaId(dialect, 'event'))) as { union?: { by: string; of: object } }
  return member !== undefined && union?.by === member ? Object.keys(union.of) : undefined
}

/** The kinds of event that a step handles; empty if it handles every event. */
export function kindsOf(step: Step): string[] {
  return step.on === undefined ? [] : Array.isArray(step.on) ? step.on : [step.on]
}
