// `sluice diff OLD NEW`: compares two configurations.

import { type CommandResult, count } from '../output.js'
import { fieldsOf, ownPairs, SECTIONS, summaryOf } from './summary.js'

interface Change {
  section: string
  name: string
  /** Undefined: it is new. */
  before?: string
  /** Undefined: it was removed. */
  after?: string
}

/** Throws a DataError if one of the two is invalid. */
export async function diff(old: string, now: string): Promise<CommandResult> {
  const [before, after] = [await summaryOf(old), await summaryOf(now)]
  for (const pair of new Set([...ownPairs(old), ...ownPairs(now)])) {
    Object.assign(before.fields, await fieldsOf(old, pair))
    Object.assign(after.fields, await fieldsOf(now, pair))
  }
  const changes = SECTIONS.flatMap(section => changesOf(section, before[section], after[section]))
  const lines = SECTIONS.flatMap(section => {
    const own = changes.filter(change => change.section === section)
    return own.length === 0 ? [] : [section, ...own.map(lineOf)]
  })
  lines.push(changes.length === 0 ? 'Both mean the same.' : count(changes.length, 'change'))
  return { json: { changes }, text: lines.join('\n'), findings: [] }
}

function changesOf(section: string, before: Record<string, string>, after: Record<string, string>): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names
    .filter(name => before[name] !== after[name])
    .map(name => ({
      section,
      name,
      ...(before[name] !== undefined && { before: before[name] }),
      ...(after[name] !== undefined && { after: after[name] }),
    }))
}

function lineOf({ name, before, after }: Change): string {
  if (before === undefined) return `  + ${name}: ${after}`
  return after === undefined ? `  - ${name}: ${before}` : `  ~ ${name}: ${before} → ${after}`
}
