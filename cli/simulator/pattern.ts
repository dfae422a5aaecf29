// A text that matches a regular expression: the shortest, with the first of each choice. Knows what JSON Schemas use of the
// syntax; look-arounds and back references are passed over, so the text may then not match.

type Cursor = { source: string; at: number }

export function matching(pattern: string): string {
  return choices({ source: pattern, at: 0 })
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
  const [written, quantifier, least] = /^(\*|\+|\?|\{(\d+)(?:,\d*)?\})\??/.exec(cursor.source.slice(cursor.at)) ?? ['', '', undefined]
  cursor.at += written.length
  // What may be repeated is there once, so that the text looks like what the pattern is about.
  return least === undefined ? (quantifier === '?' ? '' : one) : one.repeat(Number(least))
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
  if (!inside.startsWith('^')) return inside.startsWith('\\') ? escaped({ source: inside, at: 1 }) : inside.slice(0, 1)
  // Of what is allowed beside the named ones, the first that is not named.
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
