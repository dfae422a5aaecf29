// Adds to a mapping the rules for fields whose only use is a member that the provider's half lacks. So what a provider
// cannot take is said once, for all clients.

import type { LibraryData, MappingData } from '../../schemas/config/types.js'
import { bound, fieldsIn, parameters, type Scope } from '../jsonata/fields.js'
import { fusionOf } from '../jsonata/fusion.js'
import { Functions, type Library, treeOf } from './functions.js'

type Rules = MappingData['fields']['dropped']

/**
 * The data of a mapping with a rule for each field that leads to one lacked member alone, by the half that reads requests. A
 * rule of the mapping, or of the client's half, for the same field stays. `library`: the functions that the mapping sees.
 */
export function withLacks(data: MappingData, parts: ReadonlyMap<string, { data: LibraryData }>, library: Library): MappingData {
  const lacks: Rules = Object.assign({}, ...(data.uses ?? []).map(part => parts.get(part)?.data.lacks))
  if (data.request === undefined || Object.keys(lacks).length === 0) return data
  const rules: Rules = {}
  for (const [member, [field, ...others]] of membersRead(data.request, library)) {
    const rule = lacks[member]
    if (rule === undefined || field === undefined || others.length > 0) continue
    if (data.fields.dropped[field] === undefined && data.fields.refused[field] === undefined) rules[field] = rule
  }
  return { ...data, fields: { ...data.fields, dropped: { ...data.fields.dropped, ...rules } } }
}

/**
 * For each member of the object that the inner one of a request's two functions makes: the client's fields that it comes
 * from, as paths without lists. A member is left out if the whole request is used for it.
 */
function membersRead(request: string, library: Library): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const functions = new Functions(library)
  const node = treeOf(request)
  const fusion = node && fusionOf(node, functions.find, functions.readsOf)
  if (fusion === undefined) return found
  const { inner, given, made } = fusion
  const scope = made.binds.reduce<Scope>(bound, new Map(parameters(inner.lambda, given.inner)))
  for (const [member, value] of made.pairs) {
    const fields = new Set<string>()
    if (fieldsIn(value, scope, new Map(), fields)) found.set(member, [...fields])
  }
  return found
}
