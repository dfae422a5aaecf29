// What a request holds that its dialect's schema does not name. No mapping has read it: where a request is translated, it
// is told as dropped, and a thing of a kind that is not known is refused. Looked for by a function made of the schema.

import type { FoundUnnamed } from '../../plan.js'

export interface UnknownKind {
  /** Where the kind stands: `tools[].type`, or the member that is the kind. */
  path: string
  why: string
}

/** More would say no more, and a caller could have a header of any length. */
const MOST = 20
const LONGEST = 64

/** Paths in the order in which they are met, each once: `messages[].content[].weight`. */
export class Unnamed implements FoundUnnamed {
  readonly members: string[] = []
  readonly kinds: UnknownKind[] = []
  private readonly seen = new Set<string>()

  /** A member that the schema does not name. Null counts as nothing. */
  member(at: string, name: string, value: unknown): void {
    if (value === undefined || value === null || this.members.length > MOST) return
    const path = pathTo(at, name)
    if (this.isNew(path)) this.members.push(this.members.length < MOST ? path : '...')
  }

  /** A member that is the kind of what holds it. */
  memberKind(at: string, name: string, value: unknown): void {
    if (value === undefined || value === null || this.kinds.length >= MOST) return
    const path = pathTo(at, name)
    if (this.isNew(path)) this.kinds.push({ path, why: 'nothing is known of this kind' })
  }

  /** A value of the member that names the kind. */
  kind(at: string, by: string, value: unknown): void {
    if (this.kinds.length >= MOST) return
    const path = pathTo(at, by)
    if (this.isNew(path)) this.kinds.push({ path, why: `nothing is known of the kind '${plain(String(value))}'` })
  }

  private isNew(path: string): boolean {
    if (this.seen.has(path)) return false
    this.seen.add(path)
    return true
  }
}

function pathTo(at: string, name: string): string {
  return at === '' ? plain(name) : `${at}.${plain(name)}`
}

/** A text of the caller's as it may stand in a header, among others. */
function plain(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text
  return short.replaceAll(/[^\w.$@:/+-]/g, '?')
}

/** Whether a path is one of some, or leads into one of them. */
export function isWithin(path: string, others: readonly string[]): boolean {
  return others.some(other => path.startsWith(other) && (path.length === other.length || '.['.includes(path[other.length] as string)))
}
