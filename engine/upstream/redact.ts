// Removes secrets from every foreign text that leaves the gateway: an upstream's messages, and quotes of a configuration
// file in findings.

import { asPattern } from '../core/text.js'
import type { Json } from '../plan.js'
import type { Target } from '../snapshot/model.js'

const KEY_LIKE = /\b(?:sk|pk|rk|key)-[A-Za-z0-9_*.-]{8,}|\b[a-z]{2,5}[-_][A-Za-z0-9]{24,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/=-]{8,}/g
const PRIVATE_HOST =
  /(?<![\w.-])(?:https?:\/\/)?(?:localhost|127(?:\.\d+){3}|10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|[\w.-]+\.(?:internal|local|svc|lan))(?![\w.-]*\w)(?::\d+)?(?:\/[^\s"']*)?/gi
const MASK = '***'
const MAX_LENGTH = 4000
/** Characters behind the cut that are searched, beside the longest secret, for a secret that begins before it. */
const MARGIN = 256
/** Characters. A shorter secret is a common word and counts only as a whole word; a shorter header is not secret. */
const LEAST_SECRET = 4
const LEAST_HEADER = 8
/** Characters of base64; fewer may match by chance. */
const LEAST_BASE64 = 8
/** The depth and width of a value that is searched; no useful error is deeper. */
const DEEPEST = 32

/** The secrets of a target, as patterns. */
interface Hidden {
  patterns: readonly RegExp[]
  /** Base64 pieces, whose neighbouring characters belong to the secret, too. */
  encoded: readonly RegExp[]
  /** The length of the longest spelling. */
  longest: number
}

/** The patterns of each target; they live as long as its snapshot. */
const known = new WeakMap<Target, Hidden>()

/**
 * A message without keys, secrets and internal hosts, cut to a maximum length.
 * @param ids how the ids begin that the caller knows, and that only look like keys
 */
export function redact(text: string, target: Target, ids: readonly string[]): string {
  let hidden = known.get(target)
  if (hidden === undefined) {
    hidden = hiddenOf(target)
    known.set(target, hidden)
  }
  const window = text.slice(0, MAX_LENGTH + hidden.longest + MARGIN)
  const spans: Span[] = []
  for (const pattern of [...hidden.patterns, PRIVATE_HOST]) for (const match of window.matchAll(pattern)) spans.push(spanOf(match))
  for (const match of window.matchAll(KEY_LIKE)) if (!ids.some(prefix => match[0].startsWith(prefix))) spans.push(spanOf(match))
  for (const pattern of hidden.encoded) for (const match of window.matchAll(pattern)) spans.push(widened(spanOf(match), window))
  return text.length > MAX_LENGTH ? `${without(spans, window, MAX_LENGTH)}…` : without(spans, text, text.length)
}

/** A value with every text and every name in it redacted. */
export function redactValue(value: Json, target: Target, ids: readonly string[], depth = 0): Json {
  if (typeof value === 'string') return redact(value, target, ids)
  if (typeof value === 'number') return redact(String(value), target, ids) === String(value) ? value : MASK
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEEPEST) return MASK
  if (Array.isArray(value)) return value.map(item => redactValue(item, target, ids, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [redact(name, target, ids), redactValue(item, target, ids, depth + 1)]),
  )
}

/** A text for the operator, who may see hosts, without these secrets and anything else that looks like a key. */
export function maskSecrets(text: string, secrets: Iterable<string | undefined>): string {
  let masked = text
  for (const secret of secrets)
    if (secret !== undefined && secret !== '') masked = masked.replaceAll(secret, MASK).replaceAll(encodeURIComponent(secret), MASK)
  return maskKeys(masked)
}

/** A text that quotes a configuration file, without anything that looks like a key. */
export function maskKeys(text: string): string {
  return text.replaceAll(KEY_LIKE, MASK)
}

interface Span {
  from: number
  to: number
}

const spanOf = (match: RegExpExecArray): Span => ({ from: match.index, to: match.index + match[0].length })

/** The first `end` characters of a text without the spans; a span that begins before `end` is removed whole. */
function without(spans: Span[], text: string, end: number): string {
  spans.sort((left, right) => left.from - right.from)
  let masked = ''
  let at = 0
  for (const { from, to } of spans) {
    if (from >= end) break
    if (to <= at) continue
    if (from >= at) masked += text.slice(at, from) + MASK
    at = to
  }
  return at < end ? masked + text.slice(at, end) : masked
}

/** A secret's position inside a group of base64 affects one more character at each end. */
function widened({ from, to }: Span, text: string): Span {
  let [start, end] = [from, to]
  while (start > from - 4 && /[\w+/=-]/.test(text[start - 1] ?? ' ')) start--
  while (end < to + 4 && /[\w+/=-]/.test(text[end] ?? ' ')) end++
  return { from: start, to: end }
}

function hiddenOf(target: Target): Hidden {
  const secrets = new Set<string>()
  const add = (text: string, least: number): void => {
    // A credential may consist of an id and a key, and a header of a scheme and a token.
    for (const one of [text, ...text.split(/[\s:]+/)]) if (one.length >= least) secrets.add(one)
  }
  if (target.secret !== undefined && target.secret !== '') add(target.secret, Math.min(LEAST_SECRET, target.secret.length))
  for (const value of target.headerValues ?? []) add(value, LEAST_HEADER)
  const { base } = target.provider
  if (target.host !== '' && (base === undefined || new URL(base).host !== target.host)) secrets.add(target.host)
  const texts = [...secrets]
  const patterns = texts.map(text => {
    const spelled = [...text].map(spelling).join('')
    return new RegExp(text.length < LEAST_SECRET ? `(?<![\\p{L}\\p{N}])${spelled}(?![\\p{L}\\p{N}])` : spelled, 'gu')
  })
  const encoded = texts.flatMap(base64).map(text => new RegExp(asPattern(text).replaceAll('\\+', '[+-]').replaceAll('/', '[/_]'), 'g'))
  return { patterns, encoded, longest: Math.max(0, ...texts.map(text => Buffer.byteLength(text) * 3 + text.length)) }
}

/** A character as itself, behind backslashes as in JSON, or percent-encoded. */
function spelling(character: string): string {
  const bytes = [...Buffer.from(character, 'utf8')].map(byte => byte.toString(16).padStart(2, '0'))
  const percent = bytes.map(hex => `%(?:${hex}|${hex.toUpperCase()})`).join('')
  const plain = /[\p{L}\p{N}]/u.test(character) ? character : `\\\\{0,4}${asPattern(character)}`
  const unicode = [...Array(character.length).keys()].map(index => character.charCodeAt(index).toString(16).padStart(4, '0'))
  const escaped = unicode.map(hex => `\\\\u(?:${hex}|${hex.toUpperCase()})`).join('')
  return `(?:${percent}|${escaped}|${plain}${character === ' ' ? '|\\+' : ''})`
}

/** The part of a text's base64 that does not depend on its neighbours, for each of the three alignments. */
function base64(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8')
  return [0, 1, 2].flatMap(lead => {
    const whole = Buffer.concat([Buffer.alloc(lead), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const core = whole.slice(lead === 0 ? 0 : lead + 1, Math.floor(((lead + bytes.length) * 8) / 6))
    return core.length >= LEAST_BASE64 ? [core] : []
  })
}
