// Reproducible randomness: all values depend only on a seed.

export interface Random {
  /** From 0 on, below 1. */
  next(): number
  /** A whole number from 0 on, below `count`. */
  below(count: number): number
  is(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

/** The generator of a seed and a number (mulberry32): the same for each case, whatever was drawn before it. */
export function random(seed: number, index: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return { next, below, is: share => next() < share, pick: items => items[below(items.length)] as (typeof items)[number] }
}
