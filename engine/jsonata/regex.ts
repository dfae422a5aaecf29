// Regular expressions and the four built-ins that use them: $contains, $match, $replace, $split.
//
// A pattern is a matcher: a function from a string to its first match, which has a function for the next one. A regex
// literal is such a function, and a function of an expression may be one, too.

import { createSequence, ExpressionError, isFunction, type Sequence } from './sequence.js'

export interface Match {
  match: string
  start: number
  end: number
  groups: unknown[]
  next: () => Match | undefined
}

export interface Matcher {
  (text: string, fromIndex?: number): Match | undefined
  /** Only on the matcher of a regex literal. */
  regex?: RegExp
}

type Text = string | undefined

/**
 * The matcher of a regex literal. It keeps no state between calls, so one for each literal is enough, and a nested use
 * inside its own $replace does not disturb the outer one.
 */
export function regex(source: string, flags = '', position?: number): Matcher {
  const pattern = new RegExp(source, flags.includes('g') ? flags : `${flags}g`)
  const matcher = (text: string, fromIndex?: number): Match | undefined => {
    pattern.lastIndex = fromIndex || 0
    const found = pattern.exec(text)
    if (found === null) return undefined
    const match = found[0]
    const end = found.index + match.length
    const next = (): Match | undefined => {
      if (end >= text.length) return undefined
      const following = matcher(text, end)
      // An empty match would be found here for ever.
      if (following?.match === '') throw new ExpressionError('D1004', { position, value: source })
      return following
    }
    return { match, start: found.index, end, groups: found.slice(1), next }
  }
  matcher.regex = pattern
  return matcher
}

/** The result of a matcher, possibly of an expression's function: one of the three members makes it a match. */
function checked(found: Match | undefined): Match | undefined {
  if (found && typeof found.start !== 'number' && !Array.isArray(found.groups) && !isFunction(found.next)) {
    throw new ExpressionError('T1010')
  }
  return found
}

function isAbove(limit: number | undefined, count: number): boolean {
  return limit === undefined || count < limit
}

export function contains(text: Text, pattern: string | Matcher | undefined): boolean | undefined {
  if (text === undefined || pattern === undefined) return undefined
  if (typeof pattern === 'string') return text.includes(pattern)
  if (pattern.regex) {
    pattern.regex.lastIndex = 0
    return pattern.regex.test(text)
  }
  return checked(pattern(text)) !== undefined
}

export function match(text: Text, pattern: Matcher, limit?: number): Sequence | undefined {
  if (text === undefined) return undefined
  if (limit !== undefined && limit < 0) throw new ExpressionError('D3040', { index: 3, value: limit })
  const result = createSequence()
  if (!isAbove(limit, 0)) return result
  // Here and below the next match is searched before the limit is checked: an empty match is an error even past the limit.
  for (let found = checked(pattern(text)); found !== undefined && isAbove(limit, result.length); found = checked(found.next())) {
    result.push({ match: found.match, index: found.start, groups: found.groups })
  }
  return result
}

export function split(text: Text, separator: string | Matcher, limit?: number): string[] | undefined {
  if (text === undefined) return undefined
  if (limit !== undefined && limit < 0) throw new ExpressionError('D3020', { index: 3, value: limit })
  if (typeof separator === 'string') return text.split(separator, limit)
  const result: string[] = []
  if (!isAbove(limit, 0)) return result
  let start = 0
  for (let found = checked(separator(text)); found !== undefined && isAbove(limit, result.length); found = checked(found.next())) {
    result.push(text.substring(start, found.start))
    start = found.end
  }
  if (isAbove(limit, result.length)) result.push(text.substring(start))
  return result
}

export function replace(text: Text, pattern: string | Matcher, replacement: string | ((match: Match) => unknown), limit?: number): Text {
  if (text === undefined) return undefined
  if (pattern === '') throw new ExpressionError('D3010', { index: 2, value: pattern })
  if (limit !== undefined && limit < 0) throw new ExpressionError('D3011', { index: 4, value: limit })
  if (!isAbove(limit, 0)) return text
  return typeof pattern === 'string' ? replaceText(text, pattern, replacement, limit) : replaceMatches(text, pattern, replacement, limit)
}

function replaceText(text: string, pattern: string, replacement: unknown, limit: number | undefined): string {
  let result = ''
  let position = 0
  let count = 0
  for (let at = text.indexOf(pattern); at >= 0 && isAbove(limit, count); at = text.indexOf(pattern, position)) {
    // The reference would insert the function's source code.
    if (isFunction(replacement)) throw new ExpressionError('D3012', { value: replacement })
    result += text.slice(position, at) + String(replacement)
    position = at + pattern.length
    count++
  }
  return result + text.slice(position)
}

function replaceMatches(
  text: string,
  pattern: Matcher,
  replacement: string | ((match: Match) => unknown),
  limit: number | undefined,
): string {
  const isLiteral = typeof replacement === 'string' && !replacement.includes('$')
  let result = ''
  let position = 0
  let count = 0
  for (let found = checked(pattern(text)); found !== undefined && isAbove(limit, count); found = checked(found.next())) {
    const inserted = isLiteral ? replacement : typeof replacement === 'string' ? expand(replacement, found) : replacement(found)
    if (typeof inserted !== 'string') throw new ExpressionError('D3012', { value: inserted })
    result += text.substring(position, found.start) + inserted
    position = found.start + found.match.length
    count++
  }
  return result + text.substring(position)
}

/** Inserts the groups of a match for $1, $2, …, the match for $0, and "$" for "$$". */
function expand(template: string, found: Match): string {
  const groups = found.groups
  const digits = String(groups.length).length
  let result = ''
  let position = 0
  for (let at = template.indexOf('$'); at >= 0; at = template.indexOf('$', position)) {
    result += template.slice(position, at)
    position = at + 1
    const mark = template[position]
    if (mark === '$' || mark === '0') {
      result += mark === '$' ? '$' : found.match
      position++
      continue
    }
    // As many digits as the number of groups has; one fewer if there is no such group.
    let group = parseInt(template.slice(position, position + digits), 10)
    if (digits > 1 && group > groups.length) group = parseInt(template.slice(position, position + digits - 1), 10)
    if (Number.isNaN(group)) {
      result += '$'
    } else {
      result += (groups[group - 1] as string | undefined) ?? ''
      position += String(group).length
    }
  }
  return result + template.slice(position)
}
