// Sessions and the targets that they stay with; the least recently used are forgotten when there are too many.

import { createHash } from 'node:crypto'
import { now } from '../core/deadlines.js'

/** Sessions remembered for each model. */
export const MOST = 20_000
/** Characters; a longer session key is remembered by its hash. */
const LONGEST = 64

interface Session {
  target: string
  until: number
}

export class Sticky {
  private readonly sessions = new Map<string, Session>()

  /** @param lasts milliseconds from the last use on */
  constructor(
    public lasts: number,
    private readonly most = MOST,
  ) {}

  /** The name of the target of a session; undefined if there is none, or it has expired. */
  get(text: string): string | undefined {
    const session = this.sessions.get(keyOf(text))
    return session !== undefined && session.until > now() ? session.target : undefined
  }

  set(text: string, target: string): void {
    const key = keyOf(text)
    // A Map keeps insertion order, so re-inserting makes the first entry the least recently used.
    this.sessions.delete(key)
    this.sessions.set(key, { target, until: now() + this.lasts })
    if (this.sessions.size > this.most) this.sessions.delete(this.sessions.keys().next().value as string)
  }

  get size(): number {
    return this.sessions.size
  }
}

function keyOf(text: string): string {
  return text.length <= LONGEST ? text : createHash('sha256').update(text).digest('base64')
}
