// What patterns make of texts: what they mask is masked, and what they block is refused.

import { GatewayError } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import type { Json } from '../plan.js'
import type { LinkedPattern } from '../snapshot/model.js'
import { beginsAsJson, type Holder } from '../wire/json/texts.js'
import type { Span } from '../wire/patterns.js'

/** A part of a text that is masked. */
export interface Masked extends Span {
  pattern: LinkedPattern
}

export class Redactor {
  /** The longest part that is found where a text comes in pieces: characters. */
  readonly window: number

  constructor(
    private readonly patterns: readonly LinkedPattern[],
    private readonly log: LogEntry,
  ) {
    this.window = Math.max(...patterns.map(({ window }) => window))
  }

  /**
   * What is to be masked of a text: parts that begin in it from one place to another, in their order, none in another.
   * Throws where one of them may not pass.
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

  /** It is in the log how often a pattern has masked something, and never what. */
  count({ name }: LinkedPattern): void {
    this.log.masked ??= {}
    this.log.masked[name] = (this.log.masked[name] ?? 0) + 1
  }

  /** A whole text with everything masked. One that is JSON stays JSON: only the texts in it change. */
  whole(text: string): string {
    const json = beginsAsJson(text) ? parsed(text) : undefined
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

  /** Masks what is in a value; gives whether anything was. */
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

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Something that may not pass, or cannot be masked where it stands. */
export function blocked({ name }: LinkedPattern): GatewayError {
  return new GatewayError('permission', `This cannot be passed on: it holds what the pattern '${name}' does not let through.`, {
    code: 'blocked_pattern',
    cause: `blocked by the pattern ${name}`,
    // Nothing comes of trying again.
    headers: { 'x-should-retry': 'false' },
  })
}
