// The fields of a request that a mapping does not carry over: printed as checks that run before it.

import type { MappingData } from '../../schemas/config/types.js'
import type { Global } from '../jsonata/context.js'
import type { Operand } from '../jsonata/types.js'
import type { FieldRule, Source } from '../read/project.js'
import type { Pointer } from '../read/yaml.js'
import type { Module } from './module.js'

/**
 * Prints `dropped(input, ctx, sent)`, which lists the paths in use, and `refused(input, ctx)`, which gives the first path
 * in use, why it is refused, and what its condition gave, which may be texts that name what is meant. Paths are as in
 * `messages[].content[].cache_control`. What is dropped is told after the provider's request was made, and can look at it:
 * what is told is then what was done.
 */
export function printFieldChecks(
  module: Module,
  fields: MappingData['fields'],
  root: Operand,
  ctx: Global,
  source: (pointer: Pointer, text: string) => Source,
): void {
  const globals = {
    refused: new Map([['ctx', ctx]]),
    dropped: new Map([
      ['ctx', ctx],
      ['sent', { code: 'sent' }],
    ]),
  }
  const rules = (kind: 'dropped' | 'refused', each: (path: string, rule: FieldRule, held?: string) => string): void => {
    const entries = Object.entries(fields[kind])
    if (entries.length === 0) return
    module.export(kind, kind === 'dropped' ? ['input', 'ctx', 'sent'] : ['input', 'ctx'], body => {
      if (kind === 'dropped') body.add('const found = []')
      for (const [index, [path, rule]] of entries.entries()) {
        // What holds may name what is meant.
        const held = `held${index}`
        const when = typeof rule === 'object' ? rule.when : undefined
        const carried = sentAs(rule)
        if (carried !== undefined) {
          body.add(`if (${isLost(path, carried)}) ${each(path, rule)}`)
        } else if (when !== undefined) {
          const operand = module.compile(source(['fields', kind, path, 'when'], when), root, globals[kind], body, { isSerialised: false })
          body.add(`const ${held} = ${operand.code}`)
          body.add(`if (${module.unit.use('sequence', 'truthy')}(${held})) ${each(path, rule, held)}`)
        } else {
          body.add(`if (${isUsed(path)}) ${each(path, rule)}`)
        }
      }
      return kind === 'dropped' ? { code: 'found', bits: 32, stable: true } : { code: 'undefined', bits: 1, stable: true }
    })
  }
  rules('dropped', path => `found.push(${JSON.stringify(path)})`)
  rules(
    'refused',
    (path, rule, held) =>
      `return { param: ${JSON.stringify(path)}, why: ${JSON.stringify(typeof rule === 'string' ? rule : rule.why)}${held === undefined ? '' : `, named: ${held}`} }`,
  )
}

/** The member of the provider's request that a field is carried over as, or some of which one is, where a rule is about that. */
export function sentAs(rule: FieldRule): string | string[] | undefined {
  return typeof rule === 'object' ? rule.sent : undefined
}

/** JavaScript text that is true if a field is not in what was made of the request as it was in it: left out, or changed. */
function isLost(path: string, sent: string | string[]): string {
  const from = memberOf('input', path)
  const isChanged =
    typeof sent === 'string'
      ? `${from} !== ${memberOf('sent', sent)}`
      : sent.map(member => `${memberOf('sent', member)} === undefined`).join(' && ')
  return `${from} != null && ${isChanged}`
}

/** JavaScript text for what stands at a path without lists. */
function memberOf(base: string, path: string): string {
  return path.split('.').reduce((text, name) => `${text}?.${/^[A-Za-z_]\w*$/.test(name) ? name : `[${JSON.stringify(name)}]`}`, base)
}

/** JavaScript text that is true if a request has something at a path; null counts as nothing. */
function isUsed(path: string): string {
  const parts = path.split('.').map(part => ({ name: part.replace(/(\[\])+$/, ''), depth: (part.match(/\[\]/g) ?? []).length }))
  const test = (from: number, base: string, level: number): string => {
    const part = parts[from]
    // An empty list says nothing, as null does.
    if (part === undefined) return `${base} != null && !(isArray(${base}) && ${base}.length === 0)`
    // What every object inherits is no field.
    const access =
      part.name in Object.prototype
        ? `(Object.hasOwn(Object(${base}), ${JSON.stringify(part.name)}) ? ${base}[${JSON.stringify(part.name)}] : undefined)`
        : `${base}?.${/^[A-Za-z_]\w*$/.test(part.name) ? part.name : `[${JSON.stringify(part.name)}]`}`
    return inside(access, part.depth, from + 1, level)
  }
  const inside = (base: string, depth: number, from: number, level: number): string => {
    if (depth === 0) return test(from, base, level)
    const item = `v${level}`
    return `(isArray(${base}) && ${base}.some(${item} => ${inside(item, depth - 1, from, level + 1)}))`
  }
  return test(0, 'input', 0)
}
