// `sluice diff OLD NEW`: compares two configurations.

import { isDeepStrictEqual } from 'node:util'
import { type CommandResult, count } from '../output.js'
import { fieldsOfPair } from '../show/fields.js'
import { type Meant, meaningOf, SECTIONS, type Thing } from './summary.js'
import { differences, Masks } from './written.js'

interface Change {
  section: string
  name: string
  /** Undefined: it is new. */
  before?: string
  /** Undefined: it was removed. */
  after?: string
}

/** Sections whose things are done one after the other, as they stand in the file. */
const IN_ORDER: ReadonlySet<string> = new Set(['calls'])

/** Throws a DataError where one of the two cannot be served. */
export async function diff(old: string, now: string): Promise<CommandResult> {
  const [before, after] = [await meaningOf(old), await meaningOf(now)]
  addFields(before, after)
  const masks = new Masks()
  const changes = SECTIONS.flatMap(section => [
    ...changesOf(section, before.meaning[section], after.meaning[section], masks),
    ...(IN_ORDER.has(section) ? moved(section, before.meaning[section], after.meaning[section]) : []),
  ])
  const lines = SECTIONS.flatMap(section => {
    const own = changes.filter(change => change.section === section)
    return own.length === 0 ? [] : [section, ...own.map(lineOf)]
  })
  lines.push(changes.length === 0 ? 'Both mean the same.' : count(changes.length, 'change'))
  return { json: { changes }, text: lines.join('\n'), findings: [] }
}

function changesOf(section: string, before: Record<string, Thing>, after: Record<string, Thing>, masks: Masks): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name): Change[] => {
    const [old, now] = [before[name], after[name]]
    if (old === undefined || now === undefined)
      return [{ section, name, ...(old && { before: old.text }), ...(now && { after: now.text }) }]
    const whole = old.text !== now.text && !now.isAll ? [{ section, name, before: old.text, after: now.text }] : []
    if (isDeepStrictEqual(old.written, now.written)) return whole
    const parts = differences(old.written ?? {}, now.written ?? {}, masks, now.grammar)
    return [...whole, ...parts.map(({ path, ...change }) => ({ section, name: [name, path].filter(Boolean).join(': '), ...change }))]
  })
}

/** Whether what is in both comes in another order. */
function moved(section: string, before: Record<string, Thing>, after: Record<string, Thing>): Change[] {
  const [old, now] = [Object.keys(before).filter(name => after[name]), Object.keys(after).filter(name => before[name])].map(names =>
    names.join(', '),
  )
  return old === now ? [] : [{ section, name: 'in order', before: old as string, after: now as string }]
}

/** What becomes of each field of the pairs that are in both, where a mapping or the client's dialect is not the same. */
function addFields(before: Meant, after: Meant): void {
  const [old, now] = [before.meaning, after.meaning]
  const isSame = (section: 'dialects' | 'mappings', name: string): boolean => isDeepStrictEqual(old[section][name], now[section][name])
  for (const pair of Object.keys(now.mappings).filter(name => old.mappings[name])) {
    const [from] = pair.split('-to-') as [string]
    if (isSame('dialects', from) && isSame('mappings', pair)) continue
    for (const { meaning, project } of [before, after])
      for (const { path, verdict, why } of fieldsOfPair(project, pair))
        meaning.fields[`${pair}: ${path}`] = { text: why === undefined ? verdict : `${verdict} (${why})` }
  }
}

function lineOf({ name, before, after }: Change): string {
  if (before === undefined) return `  + ${name}: ${flat(after)}`
  return after === undefined ? `  - ${name}: ${flat(before)}` : `  ~ ${name}: ${flat(before)} → ${flat(after)}`
}

function flat(text = ''): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}
