// Finds the parts of a request that its dialect's schema does not name. No mapping has read them: where a request is
// translated, they are reported as dropped, and an object of an unknown kind is refused. Codegen makes the search function
// from the schema.

import type { FoundUnnamed } from '../../plan.js'

export interface UnknownKind {
  /** The path of the kind: `tools[].type`, or the member that is the kind. */
  path: string
  why: string
}

/** More names would not help, and bound the length of a header. */
const MOST = 20
const LONGEST = 64

/** Paths in the order of their discovery, without duplicates: `messages[].content[].weight`. */
export class Unnamed implements FoundUnnamed {
  readonly members: string[] = []
  readonly kinds: UnknownKind[] = []
  private readonly seen = new Set<string>()

  /** A member that the schema does not name. One that is null, or an empty text or list, says nothing. */
  member(at: string, name: string, value: unknown): void {
    if (saysNothing(value) || this.members.length > MOST) return
    const path = pathTo(at, name)
    if (this.isNew(path)) this.members.push(this.members.length < MOST ? path : '...')
  }

  /** A member whose name is the kind of the object that holds it. */
  memberKind(at: string, name: string, value: unknown): void {
    if (value === undefined || value === null || this.kinds.length >= MOST) return
    const path = pathTo(at, name)
    if (this.isNew(path)) this.kinds.push({ path, why: 'this kind is unknown' })
  }

  /** A value of the member that names the kind. */
  kind(at: string, by: string, value: unknown): void {
    if (this.kinds.length >= MOST) return
    const path = pathTo(at, by)
    if (this.isNew(path)) this.kinds.push({ path, why: `the kind '${plain(String(value))}' is unknown` })
  }

  private isNew(path: string): boolean {
    if (this.seen.has(path)) return false
    this.seen.add(path)
    return true
  }
}

function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

function pathTo(at: string, name: string): string {
  return at === '' ? plain(name) : `${at}.${plain(name)}`
}

/** A caller's text, made safe for a list in a header. */
function plain(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text
  return short.replaceAll(/[^\w.$@:/+-]/g, '?')
}

/** Whether a path is one of `others`, or leads into one. */
export function isWithin(path: string, others: readonly string[]): boolean {
  return others.some(other => path.startsWith(other) && (path.length === other.length || '.['.includes(path[other.length] as string)))
}
