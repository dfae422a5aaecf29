// The fields of a request that a mapping does not carry over: printed as checks that run before it.

import type { Global } from './jsonata/context.js'
import type { Operand } from './jsonata/types.js'
import type { Lines } from './jsonata/unit.js'
import type { Module, Source } from './module.js'
import type { Pointer } from './yaml.js'

/** Why a field is not carried over, and where it says so: when, or what of the provider's request it is carried over as. */
export type FieldRule = string | { when?: string; sent?: string | string[]; why: string }

interface Fields {
  dropped?: Record<string, FieldRule>
  refused?: Record<string, FieldRule>
}

/**
 * Prints `dropped(input, ctx)`, which lists the paths in use, and `refused(input, ctx)`, which gives the first path
 * in use and why it is refused. Paths are as in `messages[].content[].cache_control`.
 */
export function printFieldChecks(
  module: Module,
  fields: Fields,
  root: Operand,
  ctx: Global,
  source: (pointer: Pointer, text: string) => Source,
): void {
  const globals = new Map([['ctx', ctx]])
  const rules = (kind: 'dropped' | 'refused', each: (path: string, rule: FieldRule, body: Lines) => string): void => {
    const entries = Object.entries(fields[kind] ?? {}).filter(([, rule]) => sentAs(rule) === undefined)
    if (entries.length === 0) return
    module.export(kind, ['input', 'ctx'], body => {
      if (kind === 'dropped') body.add('const found = []')
      for (const [path, rule] of entries) {
        const then = each(path, rule, body)
        const when = typeof rule === 'object' ? rule.when : undefined
        if (when !== undefined) {
          const operand = module.compile(source(['fields', kind, path, 'when'], when), root, globals, body, { isSerialised: false })
          body.add(`if (${module.unit.use('sequence', 'truthy')}(${operand.code})) ${then}`)
        } else {
          body.add(`if (${isUsed(path)}) ${then}`)
        }
      }
      return kind === 'dropped' ? { code: 'found', bits: 32, stable: true } : { code: 'undefined', bits: 1, stable: true }
    })
  }
  rules('dropped', path => `found.push(${JSON.stringify(path)})`)
  rules(
    'refused',
    (path, rule) => `return { param: ${JSON.stringify(path)}, why: ${JSON.stringify(typeof rule === 'string' ? rule : rule.why)} }`,
  )
}

/** The member of the provider's request that a field is carried over as, or some of which one is, where a rule is about that. */
export function sentAs(rule: FieldRule): string | string[] | undefined {
  return typeof rule === 'object' ? rule.sent : undefined
}

/**
 * Prints `told(input, made)`, which lists the fields that are not in what was made of the request as they were in it: left
 * out, or changed. What is told is so what was done, whatever the expressions say.
 */
export function printTold(module: Module, fields: Fields): void {
  const entries = Object.entries(fields.dropped ?? {}).flatMap(([path, rule]) => {
    const sent = sentAs(rule)
    return sent === undefined ? [] : [[path, sent] as const]
  })
  if (entries.length === 0) return
  module.export('told', ['input', 'made'], body => {
    body.add('const found = []')
    for (const [path, sent] of entries) {
      const from = memberOf('input', path)
      const isLost =
        typeof sent === 'string'
          ? `${from} !== ${memberOf('made', sent)}`
          : sent.map(member => `${memberOf('made', member)} === undefined`).join(' && ')
      body.add(`if (${from} != null && ${isLost}) found.push(${JSON.stringify(path)})`)
    }
    return { code: 'found', bits: 32, stable: true }
  })
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
    if (part === undefined) return `${base} != null`
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
