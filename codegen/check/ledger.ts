// The field ledger: a mapping must read every field of a source request, or list it as dropped or refused.
//
// A field counts as read if an expression of the request's side reads its name. If no member of an object is read by name,
// the members are carried over with it. The check cannot tell two fields of the same name apart; the property tests can.

import { children, type Node, some } from '../jsonata/ast.js'
import { fusionOf } from '../jsonata/fusion.js'
import type { Finding } from '../read/findings.js'
import { Functions, type Library, libraryOf, seesAsk, treeOf } from '../read/functions.js'
import { membersOfEngine } from '../read/members-of-engine.js'
import { type Entry, type FieldRule, type MappingData, type Project, sidesOf } from '../read/project.js'
import { resolveReference, type Schema, type SchemaSet, schemaId, snakeOf, type Union } from '../read/schemas.js'
import { useOneOf } from '../read/suggest.js'

export interface Field {
  /** As in `messages[].content[].cache_control`. */
  path: string
  verdict: 'mapped' | 'dropped' | 'refused' | 'conditional' | 'missing'
  /** For a field that is carried over except in some cases: the verdict of each case, and its condition. */
  cases?: readonly Case[]
  why?: string
}

interface Case {
  becomes: 'dropped' | 'refused'
  when: string
  why: string
}

/**
 * The verdict of every field of a mapping's requests, except those that the engine itself reads. A mapping sees fields in the
 * one form of the format's `normalise`; of two spellings of a name it sees the one in camel case. `library`: the functions
 * that it sees.
 */
export function ledgerOf(mapping: Entry<MappingData>, project: Project, library = libraryOf(mapping, project)): Field[] {
  const { data } = mapping
  const { from } = sidesOf(mapping.name)
  const normalised = project.formats.get(from)?.data.normalise ?? []
  const ofEngine = membersOfEngine(project, from)
  const names = namesRead(data, library)
  const dropped = data.fields.dropped
  const refused = data.fields.refused
  const listed = (path: string): Omit<Field, 'path'> | undefined => {
    for (let prefix = path; prefix !== ''; prefix = parentOf(prefix)) {
      const cases: Case[] = []
      for (const [becomes, rules] of [
        ['refused', refused],
        ['dropped', dropped],
      ] as const) {
        // A rule may name a list with or without its brackets.
        const rule = (rules[prefix] ?? rules[prefix.replace(/(\[\])+$/, '')]) as FieldRule | undefined
        if (rule === undefined) continue
        const { when, sent, why } = typeof rule === 'string' ? { when: undefined, sent: undefined, why: rule } : rule
        if (sent !== undefined)
          cases.push({
            becomes,
            when: typeof sent === 'string' ? `it is not the same in ${sent}` : `it leads to no ${sent.join(' or ')}`,
            why,
          })
        else if (when !== undefined) cases.push({ becomes, when, why })
        else if (cases.length === 0) return { verdict: becomes, why }
        // In the cases without a verdict so far.
        else cases.push({ becomes, when: 'else', why })
      }
      // A field listed for some cases only is carried over in the others. That says nothing about the object that holds it.
      if (cases.length > 0 && prefix === path) return { verdict: 'conditional', cases }
    }
    return undefined
  }
  const fields: Field[] = []
  /** Inside a field that is listed for some cases, an unread member belongs to these cases. */
  const visit = (nodes: FieldNode[], isListed = false): void => {
    const respelled = new Set(
      normalised.includes('snake_case_names') ? nodes.flatMap(({ name }) => (snakeOf(name) === name ? [] : [snakeOf(name)])) : [],
    )
    for (const node of nodes) {
      if (respelled.has(node.name)) continue
      const known = listed(node.path)
      if (known) {
        fields.push({ path: node.path, ...known })
        if (known.verdict === 'conditional') visit(node.members, true)
        continue
      }
      // The rules of its members decide.
      if (!names.has(node.name) && node.members.length > 0 && node.members.every(member => listed(member.path))) {
        visit(node.members, isListed)
        continue
      }
      if (!names.has(node.name)) {
        if (!isListed) fields.push({ path: node.path, verdict: data.fields.rest === 'pass' ? 'mapped' : 'missing' })
        continue
      }
      fields.push({ path: node.path, verdict: 'mapped' })
      // None of its members is read by name: it is carried over as a whole.
      if (node.members.some(member => names.has(member.name))) visit(node.members, isListed)
    }
  }
  visit(fieldsOf(project.schemas, schemaId(from, 'request')).filter(node => !ofEngine.has(node.name)))
  return fields
}

export function checkLedger(mapping: Entry<MappingData>, fields: readonly Field[], findings: Finding[]): void {
  const { request, fields: said } = mapping.data
  if (said.rest === 'pass' && (request === undefined || !namesWhole(request)))
    findings.push({
      ...mapping.document.at(['fields', 'rest']),
      rule: 'ledger/rest',
      detail: '`rest` is `pass`, but `request` writes only the members that it names',
      remedy: "carry the request over, as '$merge([$, { … }])' does, or remove `rest`",
    })
  for (const { path, verdict } of fields) {
    if (verdict !== 'missing') continue
    findings.push({
      ...mapping.document.at(['fields']),
      rule: 'ledger/unmapped',
      detail: `the request's field ${path} is neither read nor listed`,
      remedy: 'map it, or list it under fields.dropped or fields.refused with the reason',
    })
  }
}

/** Reports rows of the mapping's own file for fields that the request does not have. Open fields may have any member. */
export function checkRows(mapping: Entry<MappingData>, fields: readonly FieldNode[], findings: Finding[]): void {
  const own = (mapping.document.value as { fields?: Partial<Record<'dropped' | 'refused', object>> }).fields
  for (const kind of ['dropped', 'refused'] as const) {
    for (const path of Object.keys(own?.[kind] ?? {})) {
      const known = unknownIn(path, fields)
      if (known === undefined) continue
      findings.push({
        ...mapping.document.key(['fields', kind, path]),
        rule: 'ledger/unknown',
        detail: `the request has no field ${path}`,
        remedy: useOneOf(known, path),
      })
    }
  }
}

/** The paths beside an unknown one; undefined if the path leads to a field, or into an open one. */
export function unknownIn(path: string, fields: readonly FieldNode[]): string[] | undefined {
  let nodes = fields
  for (const part of path.split('.')) {
    if (nodes.length === 0) return undefined
    const name = part.replace(/(\[\])+$/, '')
    const node = nodes.find(one => one.name === name)
    if (node === undefined) return nodes.map(one => one.path)
    nodes = node.members
  }
  return undefined
}

/** Whether an expression uses its input as a whole, or a part of it that has no name. */
function namesWhole(text: string): boolean {
  const tree = treeOf(text)
  const isWhole = (node: Node): boolean => WHOLE.has(node.type) || (node.type === 'variable' && (node.value === '' || node.value === '$'))
  return tree === undefined || some(tree, isWhole)
}

const WHOLE: ReadonlySet<string> = new Set(['wildcard', 'descendant', 'transform'])

export function parentOf(path: string): string {
  const at = path.lastIndexOf('.')
  return at < 0 ? '' : path.slice(0, at)
}

/** The names that the expressions of the request's side read, and the functions that they call. */
function namesRead(data: MappingData, library: Library): ReadonlySet<string> {
  const functions = new Functions(library)
  const found = new Set<string>()
  const called = new Set<string>()
  const visit = (node: Node): void => {
    if (node.type === 'name' || node.type === 'string') found.add(String(node.value))
    if (node.type === 'variable') call(String(node.value))
    for (const child of children(node)) visit(child)
  }
  const call = (name: string): void => {
    if (called.has(name)) return
    called.add(name)
    const found = functions.find(name)
    if (found) visit(found.lambda)
  }
  const read = (text: string | undefined): void => {
    const tree = text === undefined ? undefined : treeOf(text)
    const fusion = tree && fusionOf(tree, functions.find, functions.readsOf)
    if (fusion === undefined) {
      if (tree) visit(tree)
      return
    }
    // What the outer function does not read of the object is not computed.
    const { outer, given, binds, pairs } = fusion
    for (const node of [outer.lambda, ...given.outer, ...given.inner, ...binds, ...pairs.map(([, value]) => value)]) visit(node)
  }
  for (const text of [data.request, data.carry, data.split, data.fetch]) read(text)
  for (const rules of [data.fields.dropped, data.fields.refused]) {
    for (const rule of Object.values(rules ?? {})) if (typeof rule === 'object' && !isOfAsk(rule)) read(rule.when)
  }
  return found
}

/** A condition on `$ask` names the terms of the conversation, and none of the client's fields. */
function isOfAsk({ when }: Exclude<FieldRule, string>): boolean {
  return when !== undefined && seesAsk(when)
}

export interface FieldNode {
  name: string
  path: string
  members: FieldNode[]
}

/** The fields of a schema, as a tree; an open field has no members. */
export function fieldsOf(set: SchemaSet, id: string): FieldNode[] {
  const collect = (schema: Schema | undefined, base: string, prefix: string, open: readonly unknown[]): Map<string, FieldNode> => {
    const found = new Map<string, FieldNode>()
    if (typeof schema !== 'object' || schema === null || open.includes(schema)) return found
    const inside = [...open, schema]
    const merge = (other: Map<string, FieldNode>): void => {
      for (const [name, node] of other) {
        const known = found.get(name)
        if (known === undefined) found.set(name, node)
        else {
          const members = new Map(known.members.map(member => [member.name, member]))
          for (const member of node.members) if (!members.has(member.name)) members.set(member.name, member)
          known.members = [...members.values()]
        }
      }
    }
    if (typeof schema.$ref === 'string') {
      const target = resolveReference(set, schema.$ref, base)
      if (target) merge(collect(target.schema, target.base, prefix, inside))
    }
    for (const [name, item] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {})) {
      const list = listOf(item, base)
      const path = `${prefix}${name}${list.depth}`
      merge(new Map([[name, { name, path, members: [...collect(list.schema, list.base, `${path}.`, inside).values()] }]]))
    }
    const { union } = schema as { union?: Union }
    if (union) {
      merge(new Map([[union.by, { name: union.by, path: `${prefix}${union.by}`, members: [] }]]))
      for (const branch of Object.values(union.of)) merge(collect(branch, base, prefix, inside))
    }
    for (const keyword of ['anyOf', 'oneOf', 'allOf'] as const) {
      for (const item of (schema[keyword] as Schema[] | undefined) ?? []) merge(collect(item, base, prefix, inside))
    }
    if (schema.then !== undefined) merge(collect(schema.then as Schema, base, prefix, inside))
    return found
  }
  /** The items of a list, however the schema expresses that the value may be one. */
  const listOf = (schema: Schema, base: string): { schema: Schema; base: string; depth: string } => {
    let current = { schema, base, depth: '' }
    for (let hops = 0; hops < 6; hops++) {
      const at = current.schema
      if (typeof at !== 'object' || at === null) break
      if (typeof at.$ref === 'string') {
        const target = resolveReference(set, at.$ref, current.base)
        if (!target) break
        current = { ...target, depth: current.depth }
      } else if (typeof at.items === 'object' && at.items !== null && !Array.isArray(at.items)) {
        current = { schema: at.items as Schema, base: current.base, depth: `${current.depth}[]` }
      } else {
        // Of several objects each has members of its own.
        const branches = ((at.anyOf ?? at.oneOf) as Schema[] | undefined)?.filter(
          item => typeof item === 'object' && (item.items !== undefined || typeof item.$ref === 'string'),
        )
        const branch = branches?.[0]
        if (branch === undefined || at.properties !== undefined || (branches?.length !== 1 && !isList(branch, current.base))) break
        current = { ...current, schema: branch }
      }
    }
    return current
  }
  const isList = (schema: Schema, base: string): boolean => {
    const target = typeof schema === 'object' && typeof schema.$ref === 'string' ? resolveReference(set, schema.$ref, base)?.schema : schema
    return typeof target === 'object' && target.items !== undefined
  }
  return [...collect(set.get(id), id, '', []).values()]
}
