// Finds patterns in time linear in the length of the text, whatever the pattern, because RE2's automata never backtrack.

import { RE2JS } from 're2js'

/** A part of a text that a pattern matches. */
export interface Span {
  start: number
  end: number
}

/** Finds matches in texts. */
export interface Finder {
  /** The first match that begins at `from` or later. The character before `from` counts as its neighbour. */
  find(text: string, from: number): Span | undefined
}

/** A pattern in RE2's syntax. Throws an error that explains what is wrong with it. */
export function finderOf(source: string): Finder {
  const compiled = RE2JS.compile(source)
  return {
    find(text, from) {
      const matcher = compiled.matcher(text)
      for (let at = from; at <= text.length; ) {
        if (!matcher.find(at)) return undefined
        const [start, end] = [matcher.start(), matcher.end()]
        // An empty match has nothing to remove.
        if (end > start) return { start, end }
        at = end + 1
      }
      return undefined
    },
  }
}

/** A character that is no letter, digit or underscore: where a word may begin and end, in any script. */
const EDGE = String.raw`[^\p{L}\p{N}\p{M}_]`

/** White space of any script. RE2's own class has that of ASCII alone, and not all of it. */
const BLANK = String.raw`[\s\v\x{85}\x{FEFF}\p{Z}]+`

/** Whole words and phrases, ignoring case. A blank of a phrase matches any white space. */
export function wordFinder(words: readonly string[]): Finder {
  // The longest word that matches wins.
  const ordered = [...words].sort((left, right) => right.length - left.length)
  const alternatives = ordered.map(word => word.trim().split(/\s+/).map(RE2JS.quote).join(BLANK))
  const compiled = RE2JS.compile(`(?i)(?:^|${EDGE})(${alternatives.join('|')})(?:${EDGE}|$)`)
  return {
    find(text, from) {
      // The character before must be a neighbour, or the text must begin here.
      const before = Math.max(0, from - 1)
      const part = before === 0 ? text : text.slice(before)
      const matcher = compiled.matcher(part)
      for (let at = 0; at <= part.length && matcher.find(at); at = matcher.end(1)) {
        const [start, end] = [before + matcher.start(1), before + matcher.end(1)]
        if (start >= from) return { start, end }
      }
      return undefined
    },
  }
}
