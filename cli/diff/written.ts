// What is written in two files, compared value by value.

import type { Schema } from '../../codegen/read/schemas.js'

type Rules = Record<string, unknown>

/** A grammar that says which values are secrets; `root` is what its references are about. */
export interface Grammar {
  rules: Schema | undefined
  root: Schema | undefined
}

/** A value that is not the same in both. What is absent in one is new, or gone. */
export interface Difference {
  /** As in `headers.x-team`; empty: the whole. */
  path: string
  before?: string
  after?: string
}

/** Words in the place of secrets: the same secret has the same word wherever it appears. */
export class Masks {
  private readonly words = new Map<string, string>()

  of(secret: string): string {
    const known = this.words.get(secret)
    if (known !== undefined) return known
    const word = `secret ${this.words.size + 1}`
    this.words.set(secret, word)
    return word
  }
}

/** Values of a secret that are not secret themselves. */
const NO_SECRETS = new Set(['none', 'caller', 'sqlite'])

/** Every difference of two values of JSON, in the order of the first; a value that only one of them has is one difference. */
export function differences(before: unknown, after: unknown, masks: Masks, grammar?: Grammar): Difference[] {
  const root = grammar?.root
  const found: Difference[] = []
  const compare = (old: unknown, now: unknown, path: readonly string[], rules: Rules): void => {
    if (isTree(old) && isTree(now) && Array.isArray(old) === Array.isArray(now)) {
      for (const name of new Set([...Object.keys(old), ...Object.keys(now)]))
        compare((old as Rules)[name], (now as Rules)[name], [...path, name], rulesOf(partOf(rules, name, old), root))
      return
    }
    const [said, says] = [old, now].map(one => (isNothing(one) ? undefined : inWords(one, rules, root, masks)))
    if (said !== says)
      found.push({ path: path.join('.'), ...(said !== undefined && { before: said }), ...(says !== undefined && { after: says }) })
  }
  compare(before, after, [], rulesOf(grammar?.rules, root))
  return found
}

/** What says no more than its absence: an object without anything in it. An empty list may say: none of all. */
function isNothing(value: unknown): boolean {
  return value === undefined || (isHolder(value) && !Array.isArray(value) && Object.values(value).every(isNothing))
}

/** What is compared member by member: objects, and lists of them. */
function isTree(value: unknown): value is object {
  return isHolder(value) && (!Array.isArray(value) || value.some(isHolder))
}

/** A value as it is printed: texts as they are, lists and objects as in YAML. */
function inWords(value: unknown, rules: Rules, root: Schema | undefined, masks: Masks): string {
  const printed = (part: unknown, of: Rules): string => {
    if (Array.isArray(part)) return `[${part.map(one => printed(one, rulesOf(of.items, root))).join(', ')}]`
    if (!isHolder(part)) return single(part, of, masks)
    const members = Object.entries(part).filter(([, one]) => !isNothing(one))
    return `{ ${members.map(([name, one]) => `${name}: ${printed(one, rulesOf(partOf(of, name, part), root))}`).join(', ')} }`
  }
  return printed(value, rules)
}

function single(value: unknown, { secret }: Rules, masks: Masks): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return secret === true && !text.startsWith('$') && !NO_SECRETS.has(text) ? masks.of(text) : text
}

function partOf({ properties, additionalProperties, items }: Rules, name: string, of: object): unknown {
  if (Array.isArray(of)) return items
  return isHolder(properties) && Object.hasOwn(properties, name) ? (properties as Rules)[name] : additionalProperties
}

/** The rules for a part, with what they refer to in the same file. */
function rulesOf(schema: unknown, root: Schema | undefined): Rules {
  if (!isHolder(schema)) return {}
  const { $ref, ...own } = schema as Rules
  if (typeof $ref !== 'string' || !isHolder(root)) return own
  return { ...rulesOf((root.$defs as Rules)[$ref.slice('#/$defs/'.length)], root), ...own }
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
