// Applies patterns to texts: masks what they mask, and refuses what they block.

import { GatewayError } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import type { Json } from '../plan.js'
import type { LinkedPattern } from '../snapshot/model.js'
import { jsonOr } from '../wire/json/parse.js'
import { beginsAsJson, type Holder } from '../wire/json/texts.js'
import type { Span } from '../wire/patterns.js'

/** A masked part of a text. */
export interface Masked extends Span {
  pattern: LinkedPattern
}

/** A text that arrives in pieces is looked at again after each quarter of the window. */
const PART = 4
/** Characters of decided text that are kept as the neighbours of what follows. */
export const CONTEXT = 16

export class Redactor {
  /** The longest match that is found when a text arrives in pieces: characters. */
  readonly window: number
  private readonly due: number

  constructor(
    private readonly patterns: readonly LinkedPattern[],
    private readonly log: LogEntry,
  ) {
    this.window = Math.max(...patterns.map(({ window }) => window))
    this.due = this.window + Math.ceil(this.window / PART)
  }

  /** Whether so many undecided characters of a text are looked at, except the last window of them, in which a match may still grow. */
  isDue(undecided: number): boolean {
    return undecided >= this.due
  }

  /**
   * The masked parts that begin within a range of a text, in order and without overlaps.
   * Throws if a pattern blocks one of them.
   */
  parts(text: string, from: number, to: number): Masked[] {
    const found: Masked[] = []
    for (const pattern of this.patterns) {
      for (let span = pattern.finder.find(text, from); span !== undefined && span.start < to; span = pattern.finder.find(text, span.end)) {
        if (pattern.isBlocking) throw blocked(pattern)
        found.push({ ...span, pattern })
      }
    }
    found.sort((left, right) => left.start - right.start || right.end - left.end)
    let end = 0
    return found.filter(part => {
      if (part.start < end) return false
      end = part.end
      return true
    })
  }

  /** The log counts how often a pattern masked something; it never holds the text. */
  count({ name }: LinkedPattern): void {
    this.log.masked ??= {}
    this.log.masked[name] = (this.log.masked[name] ?? 0) + 1
  }

  /** A whole text with everything masked. JSON stays JSON: only the texts in it change. */
  whole(text: string): string {
    const json: Json = beginsAsJson(text) ? jsonOr(text, undefined) : undefined
    if (json === undefined) return this.plain(text)
    const root: Holder = { json }
    return this.below(root, 'json') ? JSON.stringify(root.json) : text
  }

  private plain(text: string): string {
    const parts = this.parts(text, 0, text.length + 1)
    if (parts.length === 0) return text
    let masked = ''
    let at = 0
    for (const { start, end, pattern } of parts) {
      this.count(pattern)
      masked += text.slice(at, start) + pattern.mask
      at = end
    }
    return masked + text.slice(at)
  }

  /** Masks the texts in a value; returns whether there were any. */
  private below(holder: Holder, key: string | number): boolean {
    const value = holder[key]
    if (typeof value === 'string') {
      const masked = this.plain(value)
      if (masked === value) return false
      holder[key] = masked
      return true
    }
    if (typeof value === 'number') this.mustBeFree(String(value))
    if (typeof value !== 'object' || value === null) return false
    let isChanged = false
    for (const name of Object.keys(value)) {
      if (!Array.isArray(value)) this.mustBeFree(name)
      isChanged = this.below(value as Holder, name) || isChanged
    }
    return isChanged
  }

  private mustBeFree(text: string): void {
    const [part] = this.parts(text, 0, text.length + 1)
    if (part) throw blocked(part.pattern)
  }
}

/** The error for a text that a pattern blocks, or that cannot be masked in its place. */
export function blocked({ name }: LinkedPattern): GatewayError {
  return new GatewayError('permission', `This cannot be passed on: it contains text that the pattern '${name}' blocks.`, {
    code: 'blocked_pattern',
    cause: `blocked by the pattern ${name}`,
    // A retry would be refused again.
    headers: { 'x-should-retry': 'false' },
  })
}
