// Who stays with which target: as many as there is room for, those that came last.

import { createHash } from 'node:crypto'
import { now } from '../core/deadlines.js'

/** How many are remembered for a model. */
export const MOST = 20_000
/** A longer text is remembered by its hash. */
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

  /** The name of the target that a text stays with; nothing where it has none, or its time is over. */
  get(text: string): string | undefined {
    const place = this.places.get(keyOf(text))
    return place !== undefined && place.until > now() ? place.target : undefined
  }

  set(text: string, target: string): void {
    const key = keyOf(text)
    // A map keeps its order: the first one is the one that was used longest ago.
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
