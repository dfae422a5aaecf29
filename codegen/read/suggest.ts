// The remedy for a name that is not known: the names that are, and first the one that was probably meant.

import { elementAt } from '../jsonata/element.js'

/** The most single-letter slips between a name and the one that was meant, by the length of the shorter: one in three letters. */
const LETTERS_A_SLIP = 3
const MOST_SLIPS = 3

/** `use one of: …`; with `did you mean …?` before it if one of the known names is much like the given one. */
export function useOneOf(known: Iterable<string>, given: string): string {
  const names = [...known]
  const near = nearest(names, given)
  return `${near === undefined ? '' : `did you mean ${near}? else `}use one of: ${names.join(', ') || '(none yet)'}`
}

/** The known name with the fewest slips; undefined if none is near, or if several are equally near. */
export function nearest(known: readonly string[], given: string): string | undefined {
  const text = given.toLowerCase()
  let least = MOST_SLIPS + 1
  let found: string[] = []
  for (const name of known) {
    const allowed = Math.min(MOST_SLIPS, Math.floor(Math.min(name.length, text.length) / LETTERS_A_SLIP))
    if (Math.abs(name.length - text.length) > allowed) continue
    const slips = slipsBetween(name.toLowerCase(), text)
    if (slips > allowed || slips > least) continue
    found = slips < least ? [name] : [...found, name]
    least = slips
  }
  return found.length === 1 ? found[0] : undefined
}

/** Letters that are added, missing, replaced, or swapped with their neighbour. */
function slipsBetween(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)]
  const at = (row: number, column: number): number => elementAt(elementAt(rows, row), column)
  for (let left = 1; left <= one.length; left++) {
    rows.push([left])
    for (let right = 1; right <= other.length; right++) {
      const isSame = one[left - 1] === other[right - 1]
      const isSwap = left > 1 && right > 1 && one[left - 1] === other[right - 2] && one[left - 2] === other[right - 1]
      const plain = Math.min(at(left - 1, right) + 1, at(left, right - 1) + 1, at(left - 1, right - 1) + (isSame ? 0 : 1))
      rows[left]?.push(isSwap ? Math.min(plain, at(left - 2, right - 2) + 1) : plain)
    }
  }
  return at(one.length, other.length)
}
