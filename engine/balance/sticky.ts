// Sessions and the targets that they stay with; the least recently used are forgotten when there are too many.

import { createHash } from 'node:crypto'
import { now } from '../core/deadlines.js'

/** Sessions remembered for each model. */
export const MOST = 20_000
/** Characters; a longer session key is remembered by its hash. */
const LONGEST = 64

interface Place {
  target: string
  until: number
}

export class Sticky {
  private readonly places = new Map<string, Place>()

  /** @param lasts milliseconds from the last use on */
  constructor(
    public lasts: number,
    private readonly most = MOST,
  ) {}

  /** The name of the target of a session; undefined if there is none, or it has expired. */
  get(text: string): string | undefined {
    const place = this.places.get(keyOf(text))
    return place !== undefined && place.until > now() ? place.target : undefined
  }

  set(text: string, target: string): void {
    const key = keyOf(text)
    // A Map keeps insertion order, so re-inserting makes the first entry the least recently used.
    this.places.delete(key)
    this.places.set(key, { target, until: now() + this.lasts })
    if (this.places.size > this.most) this.places.delete(this.places.keys().next().value as string)
  }

  get size(): number {
    return this.places.size
  }
}

function keyOf(text: string): string {
  return text.length <= LONGEST ? text : createHash('sha256').update(text).digest('base64')
}
