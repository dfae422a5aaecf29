// Adds to a mapping the rules for what the provider's half lacks. So what a provider cannot take is said once, for all
// clients.

import type { LibraryData } from '../../schemas/config/types.js'
import { bound, fieldsIn, parameters, type Scope } from '../jsonata/fields.js'
import { fusionOf } from '../jsonata/fusion.js'
import { Functions, type Library, treeOf } from './functions.js'
import type { MappingData } from './parts.js'

type Rules = MappingData['fields']['dropped']

type Lack = NonNullable<LibraryData['lacks']>[string]

/**
 * The data of a mapping with a rule for each field that says what the provider's half lacks. Which fields say a term is in
 * `terms` of the client's half; of a member of the request it is the only field that the half reads for it. A rule of the
 * mapping itself (`own`) for the same field stays; with one of the client's half, both hold. `library`: the functions that the
 * mapping sees.
 */
export function withLacks(
  data: MappingData,
  own: MappingData['fields'],
  parts: ReadonlyMap<string, { data: LibraryData }>,
  library: Library,
): MappingData {
  const used = (data.uses ?? []).flatMap(part => parts.get(part)?.data ?? [])
  const lacks = Object.entries<Lack>(Object.assign({}, ...used.map(part => part.lacks)))
  if (data.request === undefined || lacks.length === 0) return data
  const terms: NonNullable<LibraryData['terms']> = Object.assign({}, ...used.map(part => part.terms))
  const members = membersRead(data.request, library)
  const fields = { ...data.fields, dropped: { ...data.fields.dropped }, refused: { ...data.fields.refused } }
  for (const [term, lack] of lacks) {
    const only = members.get(term)
    const said = [terms[term] ?? (only?.length === 1 ? only : [])].flat()
    const isRefused = typeof lack === 'object' && lack.refused
    for (const field of said) {
      if (own.refused[field] !== undefined || own.dropped[field] !== undefined) continue
      const rules = isRefused ? fields.refused : fields.dropped
      if (!isRefused && typeof fields.refused[field] === 'string') continue
      rules[field] = either(rules[field], ruleOf(lack))
    }
  }
  return { ...data, fields }
}

function ruleOf(lack: Lack): Rules[string] {
  if (typeof lack === 'string') return lack
  const { why, sent, when } = lack
  return sent !== undefined ? { sent, why } : when !== undefined ? { when, why } : why
}

/** The rule for the cases of two rules. */
function either(known: Rules[string] | undefined, rule: Rules[string]): Rules[string] {
  if (known === undefined || typeof known === 'string') return known ?? rule
  if (typeof rule === 'string') return rule
  if (known.when === undefined || rule.when === undefined) return known
  return { when: `(${known.when}) or (${rule.when})`, why: `${known.why}; or ${rule.why}` }
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
    if (fieldsIn(value, scope, fields)) found.set(member, [...fields])
  }
  return found
}
