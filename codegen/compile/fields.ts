// Prints the checks for the fields of a request that a mapping does not carry over; they run before the mapping.

import type { MappingData } from '../../schemas/config/types.js'
import type { Global } from '../jsonata/context.js'
import { type Js, joined, js, json, optionalAccess } from '../jsonata/js.js'
import { NOTHING, type Operand } from '../jsonata/types.js'
import type { Lines } from '../jsonata/unit.js'
import { type Source, seesAsk } from '../read/functions.js'
import { holdersFirst, holdersOf } from '../read/holders.js'
import type { FieldRule } from '../read/project.js'
import type { Pointer } from '../read/yaml.js'
import type { ExpressionSite } from './emit.js'
import { compileAsked } from './fused.js'
import type { Module } from './module.js'

/**
 * Prints `dropped(input, ctx, sent)`, which lists the used paths, and `refused(input, ctx)`, which returns the first used
 * path, the reason, and the result of its condition, which may be the names of what it found. Paths look like
 * `messages[].content[].cache_control`. `dropped` runs after the provider's request was made and may read it, so that it
 * reports what was really done.
 */
export function printFieldChecks(
  module: Module,
  fields: MappingData['fields'],
  root: Operand,
  seen: ReadonlyMap<string, Global>,
  source: (pointer: Pointer, text: string) => Source,
): void {
  const globals = {
    refused: seen,
    dropped: new Map([...seen, ['sent', { code: js`sent` }]]),
  }
  const rules = (kind: 'dropped' | 'refused', each: (path: string, rule: FieldRule, held?: Js) => Js): void => {
    const entries = Object.entries(fields[kind])
    if (entries.length === 0) return
    const check = (path: string, rule: FieldRule, held: Js, into: Lines): void => {
      const when = typeof rule === 'object' ? rule.when : undefined
      const carried = sentAs(rule)
      if (carried !== undefined) {
        into.add(js`if (${isLost(path, carried, module)}) ${each(path, rule)}`)
      } else if (when !== undefined) {
        const isOfAsk = seesAsk(when)
        // A condition on the conversation reads it once more, so that most requests must not pay for it. The condition
        // decides what an empty value says.
        const inner = isOfAsk ? blockIf(into, isUsed(path, isThere)) : into
        const site = { module, source: source(['fields', kind, path, 'when'], when), root, globals: globals[kind], into: inner }
        const operand = compileCondition(site, isOfAsk)
        inner.add(js`const ${held} = ${operand.code}`)
        inner.add(js`if (${module.unit.use('sequence', 'truthy')}(${held})) ${each(path, rule, held)}`)
        if (isOfAsk) into.add(js`}`)
      } else {
        into.add(js`if (${isUsed(path, saying(path, module))}) ${each(path, rule)}`)
      }
    }
    module.export(kind, kind === 'dropped' ? ['input', 'ctx', 'sent'] : ['input', 'ctx'], body => {
      if (kind === 'dropped') body.add(js`const found = []`)
      const isKnown = (path: string): boolean => Object.hasOwn(fields[kind], path)
      for (const [index, [path, rule]] of (kind === 'dropped' ? holdersFirst(entries) : entries).entries()) {
        const holders = kind === 'dropped' ? holdersOf(path).filter(isKnown) : []
        const into = holders.length > 0 ? blockIf(body, joined(holders.map(isNotFound), ' && ')) : body
        // The result of a condition may be the names of what it found.
        check(path, rule, js`held${index}`, into)
        if (holders.length > 0) body.add(js`}`)
      }
      return kind === 'dropped' ? { code: js`found`, bits: 32, stable: true } : { code: js`undefined`, bits: 1, stable: true }
    })
  }
  rules('dropped', path => js`found.push(${json(path)})`)
  rules(
    'refused',
    (path, rule, held) =>
      js`return { param: ${json(path)}, why: ${json(typeof rule === 'string' ? rule : rule.why)}${held === undefined ? js`` : js`, named: ${held}`} }`,
  )
}

/** Opens a block that runs if a condition holds; the caller closes it. */
function blockIf(into: Lines, condition: Js): Lines {
  into.add(js`if (${condition}) {`)
  return into.nested()
}

const isNotFound = (path: string): Js => js`!found.includes(${json(path)})`

function compileCondition(site: ExpressionSite, isOfAsk: boolean): Operand {
  const { module, source, root, globals, into } = site
  const node = module.parse(source)
  if (node === undefined) return NOTHING
  return isOfAsk ? compileAsked(node, site) : module.compileTree(node, source, root, globals, into, { isSerialised: false })
}

/** The members of the provider's request that a field is carried over as, if a rule names them. */
export function sentAs(rule: FieldRule): string | string[] | undefined {
  return typeof rule === 'object' ? rule.sent : undefined
}

/** JavaScript that is true if the made request lacks a field, or has another value for it. */
function isLost(path: string, sent: string | string[], module: Module): Js {
  const from = memberOf(js`input`, path)
  const isAbsent = (member: string): Js => js`${memberOf(js`sent`, member)} === undefined`
  const isChanged = typeof sent === 'string' ? js`${from} !== ${memberOf(js`sent`, sent)}` : joined(sent.map(isAbsent), ' && ')
  return js`${saying(path, module)(from)} && ${isChanged}`
}

/** JavaScript for the value at a path without lists. */
function memberOf(base: Js, path: string): Js {
  return path.split('.').reduce<Js>((text, name) => js`${text}${optionalAccess(name)}`, base)
}

/** JavaScript that is true if a value is there: null and an empty list count as absent. */
function isThere(value: Js): Js {
  return js`${value} != null && !(isArray(${value}) && ${value}.length === 0)`
}

/**
 * JavaScript that is true if the value at a path says something: an empty text, list or object says nothing. An item of a
 * list says something even if it is empty.
 */
function saying(path: string, module: Module): (value: Js) => Js {
  return path.endsWith('[]') ? isThere : value => js`${module.unit.use('values', 'says')}(${value})`
}

/** JavaScript that is true if a request has a value at a path for which `test` is true. */
function isUsed(path: string, test: (value: Js) => Js): Js {
  const parts = path.split('.').map(part => ({ name: part.replace(/(\[\])+$/, ''), depth: (part.match(/\[\]/g) ?? []).length }))
  const within = (from: number, base: Js, level: number): Js => {
    const part = parts[from]
    if (part === undefined) return test(base)
    // An inherited property is not a field.
    const member =
      part.name in Object.prototype
        ? js`(Object.hasOwn(Object(${base}), ${json(part.name)}) ? ${base}[${json(part.name)}] : undefined)`
        : js`${base}${optionalAccess(part.name)}`
    return inside(member, part.depth, from + 1, level)
  }
  const inside = (base: Js, depth: number, from: number, level: number): Js => {
    if (depth === 0) return within(from, base, level)
    const item = js`v${level}`
    return js`(isArray(${base}) && ${base}.some(${item} => ${inside(item, depth - 1, from, level + 1)}))`
  }
  return within(0, js`input`, 0)
}
