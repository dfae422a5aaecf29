// A text that matches a regular expression: a short one, with the first of each choice. Supports the syntax that JSON
// Schemas use; lookaround and back references are ignored, so the text may then not match.

/** `times`: the repetitions of an unbounded quantifier. */
type Cursor = { source: string; at: number; times: number }

export function matching(pattern: string, length = 0): string {
  let text = ''
  for (let times = 1; times <= Math.max(length, 1); times++) {
    text = choices({ source: pattern, at: 0, times })
    if (text.length >= length) break
  }
  return text
}

function choices(cursor: Cursor): string {
  const first = sequence(cursor)
  while (cursor.source[cursor.at] === '|') {
    cursor.at++
    sequence(cursor)
  }
  return first
}

function sequence(cursor: Cursor): string {
  let text = ''
  while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== '|' && cursor.source[cursor.at] !== ')') {
    text += repeated(atom(cursor), cursor)
  }
  return text
}

function repeated(one: string, cursor: Cursor): string {
  const [written, quantifier, least, most] = /^(\*|\+|\?|\{(\d+)(,\d*)?\})\??/.exec(cursor.source.slice(cursor.at)) ?? ['']
  cursor.at += written.length
  if (quantifier === undefined) return one
  if (quantifier === '?') return ''
  if (most !== undefined && most !== ',') return one.repeat(Math.min(Math.max(Number(least), cursor.times), Number(most.slice(1))))
  if (least !== undefined && most === undefined) return one.repeat(Number(least))
  return one.repeat(Math.max(Number(least ?? 0), cursor.times))
}

function atom(cursor: Cursor): string {
  const mark = cursor.source[cursor.at++] ?? ''
  if (mark === '(') return group(cursor)
  if (mark === '[') return set(cursor)
  if (mark === '\\') return escaped(cursor)
  if (mark === '.') return 'a'
  return mark === '^' || mark === '$' ? '' : mark
}

function group(cursor: Cursor): string {
  const [opening = ''] = /^\?(?::|<?[=!]|<[^>]*>)/.exec(cursor.source.slice(cursor.at)) ?? []
  cursor.at += opening.length
  const text = choices(cursor)
  cursor.at++
  return /[=!]$/.test(opening) ? '' : text
}

function set(cursor: Cursor): string {
  const closing = /^\^?\]?(?:\\.|[^\]\\])*\]/.exec(cursor.source.slice(cursor.at))
  const inside = closing ? closing[0].slice(0, -1) : ''
  cursor.at += closing ? closing[0].length : 1
  if (!inside.startsWith('^')) return inside.startsWith('\\') ? escaped({ ...cursor, source: inside, at: 1 }) : inside.slice(0, 1)
  // The first allowed character that a negated class does not name.
  const named = new RegExp(`[${inside.slice(1)}]`)
  return [...'aA0 _-.:/~'].find(character => !named.test(character)) ?? ''
}

function escaped(cursor: Cursor): string {
  const mark = cursor.source[cursor.at++] ?? ''
  const code = mark === 'x' ? 2 : mark === 'u' ? 4 : 0
  if (code > 0) {
    cursor.at += code
    return String.fromCharCode(Number.parseInt(cursor.source.slice(cursor.at - code, cursor.at), 16))
  }
  if (mark === 'p' || mark === 'P') {
    cursor.at = cursor.source.indexOf('}', cursor.at) + 1
    return 'a'
  }
  return { d: '0', D: 'a', w: 'a', W: '-', s: ' ', S: 'a', b: '', B: '', n: '\n', r: '\r', t: '\t' }[mark] ?? mark
}
