// Sessions and the targets that they stay with; the least recently used are forgotten when there are too many.

import { createHash } from 'node:crypto'
import { now } from '../core/deadlines.js'
import { setLatest } from '../core/latest.js'

/** Sessions remembered for each model. */
const MOST = 20_000
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

  forget(text: string): void {
    this.sessions.delete(keyOf(text))
  }

  set(text: string, target: string): void {
    setLatest(this.sessions, keyOf(text), { target, until: now() + this.lasts }, this.most)
  }

  get size(): number {
    return this.sessions.size
  }
}

function keyOf(text: string): string {
  return text.length <= LONGEST ? text : createHash('sha256').update(text).digest('base64')
}
