// Adds the members that a dialect's answers always have to a mapping's result, with the value for "absent".

import type { Completion, Json } from '../../plan.js'

/** A value with the missing members of the rules added. The input is not changed: objects that change are copied. */
export function completed(value: Json, rules: readonly Completion[]): Json {
  return withMissing(value, rules, copyOf)
}

type Body = Record<string, Json>
const copyOf = (value: Body): Body => ({ ...value })
const itself = (value: Body): Body => value

/** `own` returns an object that may be changed. */
function withMissing(value: Json, rules: readonly Completion[], own: (value: Body) => Body): Json {
  let whole = value
  for (let index = 0; index < rules.length; index++) whole = at(whole, rules[index] as Completion, 0, own)
  return whole
}

function at(value: Json, rule: Completion, depth: number, own: (value: Body) => Body): Json {
  if (typeof value !== 'object' || value === null) return value
  const name = rule.path[depth]
  if (name === '[]') return Array.isArray(value) ? value.map(item => at(item, rule, depth + 1, own)) : value
  if (Array.isArray(value)) return value
  const known = value as Body
  if (name !== undefined) {
    if (known[name] === undefined) return value
    const whole = own(known)
    whole[name] = at(known[name], rule, depth + 1, own)
    return whole
  }
  for (const member in rule.when) if (known[member] !== rule.when[member]) return value
  // The mapping's members come first: some readers recognise an object by its beginning.
  const whole = own(known)
  for (const member in rule.members) if (whole[member] === undefined) whole[member] = rule.members[member]
  return whole
}

/** Completes a list of alternating kinds and texts of events. Most kinds have no rules, and the list is returned unchanged. */
export function completedEvents(list: readonly string[], rules: Readonly<Record<string, readonly Completion[]>>): readonly string[] {
  let whole: string[] | undefined
  for (let index = 0; index < list.length; index += 2) {
    const kind = list[index] as string
    if (!Object.hasOwn(rules, kind)) continue
    const [own, text] = [rules[kind] as readonly Completion[], list[index + 1] as string]
    if (!mayApply(own, text)) continue
    whole ??= list.slice()
    whole[index + 1] = completedText(text, own)
  }
  return whole ?? list
}

/** For rules that all have a text in `when`: these texts, as they are written in JSON. */
const CONDITIONS = new WeakMap<readonly Completion[], readonly string[] | null>()

/** False if no rule can apply, without parsing: most events of a stream are texts, and few rules are for them. */
function mayApply(rules: readonly Completion[], text: string): boolean {
  let conditions = CONDITIONS.get(rules)
  if (conditions === undefined) {
    const texts = rules.map(({ when }) => Object.values(when ?? {}).find(value => typeof value === 'string'))
    conditions = texts.includes(undefined) ? null : texts.map(value => JSON.stringify(value))
    CONDITIONS.set(rules, conditions)
  }
  return conditions === null || conditions.some(condition => text.includes(condition))
}

/** Completed texts that recur in every stream, such as the beginning of a block. */
const KNOWN = new WeakMap<readonly Completion[], Map<string, string>>()
const MOST_KNOWN = 32
const LONGEST_KNOWN = 256

function completedText(text: string, rules: readonly Completion[]): string {
  let known = KNOWN.get(rules)
  if (known === undefined) {
    known = new Map()
    KNOWN.set(rules, known)
  }
  const before = text.length <= LONGEST_KNOWN ? known.get(text) : undefined
  if (before !== undefined) return before
  const made = JSON.stringify(withMissing(JSON.parse(text), rules, itself))
  if (text.length <= LONGEST_KNOWN) {
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(text, made)
  }
  return made
}
