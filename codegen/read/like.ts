// Files with `like`: keys that they omit come from the named file.

import { isObject } from '../../engine/core/members.js'
import type { Finding } from './findings.js'
import type { Pointer, YamlDocument } from './yaml.js'

type Value = Record<string, unknown>

/** A named file, which may be like another one. */
export interface Named {
  name: string
  document: YamlDocument
}

/** Keys whose members are merged one by one. Other keys are replaced as a whole. */
export type Layered = ReadonlySet<string>

/** Whether a document is like another one, so that its grammar applies to both together. */
export function isLike(document: YamlDocument): boolean {
  return isObject(document.value) && typeof document.value.like === 'string'
}

/** The merged keys of formats, and of routes. */
export const OF_FORMATS: Layered = new Set(['stream', 'watch'])
export const OF_ROUTES: Layered = new Set(['limits', 'relay'])

/** Keys that are never inherited, because they describe the file itself. */
const OWN = new Set(['like', 'replaces', 'name', 'source'])

/**
 * Documents, each merged with the one that it is like, which is among them or among `lower`; there the name may equal the
 * document's own. A document that is like an unknown one, or like itself, is left out, with a finding.
 */
export function resolved(
  documents: readonly Named[],
  lower: ReadonlyMap<string, YamlDocument>,
  layered: Layered,
  kind: 'route' | 'format',
  findings: Finding[],
): Named[] {
  const own = new Map(documents.map(({ name, document }) => [name, document]))
  const done = new Map<YamlDocument, YamlDocument | undefined>()
  const resolve = (document: YamlDocument, name: string, before: readonly YamlDocument[]): YamlDocument | undefined => {
    if (done.has(document)) return done.get(document)
    const { like } = document.value as { like?: string }
    if (like === undefined) return document
    // A lower document can only be like a lower one.
    const isOwn = own.get(name) === document
    const base = isOwn && like !== name ? (own.get(like) ?? lower.get(like)) : lower.get(like)
    const isCircle = base !== undefined && [...before, document].includes(base)
    if (base === undefined || isCircle)
      findings.push({
        ...document.at(['like']),
        rule: kind === 'route' ? 'route/like' : 'format/like',
        detail: isCircle
          ? `${like} inherits from this one`
          : `there is no ${kind === 'route' ? 'route' : 'dialect'} ${like} to inherit from`,
        remedy: kind === 'route' ? 'name another route' : 'name another dialect, a folder of schemas/',
      })
    const whole = base === undefined || isCircle ? undefined : resolve(base, like, [...before, document])
    const laid = whole && over(document, whole, layered)
    done.set(document, laid)
    return laid
  }
  return documents.flatMap(({ name, document }) => {
    const whole = resolve(document, name, [])
    return whole === undefined ? [] : [{ name, document: whole }]
  })
}

/** Merges a document over another one: the position of an inherited key is in the lower file. */
function over(upper: YamlDocument, lower: YamlDocument, layered: Layered): YamlDocument {
  const value = mergedOver(lower.value as Value, upper.value as Value, layered)
  const who = (pointer: Pointer): YamlDocument => (says(upper.value, pointer) || !says(lower.value, pointer) ? upper : lower)
  return {
    file: upper.file,
    value,
    at: pointer => who(pointer).at(pointer),
    key: pointer => who(pointer).key(pointer),
    inside: (pointer, offset) => who(pointer).inside(pointer, offset),
  }
}

/** Merges two files' data, where the upper is like the lower. */
export function mergedOver(lower: Value, upper: Value, layered: Layered): Value {
  return merged(Object.fromEntries(Object.entries(lower).filter(([key]) => !OWN.has(key))), upper, layered)
}

function merged(lower: Value, upper: Value, layered: Layered): Value {
  const value: Value = { ...lower, ...upper }
  for (const key of layered) if (isObject(lower[key]) && isObject(upper[key])) value[key] = merged(lower[key], upper[key], layered)
  return value
}

function says(value: unknown, pointer: Pointer): boolean {
  let at = value
  for (const part of pointer) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return false
    at = (at as Record<string | number, unknown>)[part]
  }
  return true
}
