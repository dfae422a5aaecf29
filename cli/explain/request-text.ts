// Parses a client's request: an HTTP message, a curl command, or a body.

import { readInput } from '../cases/input.js'
import { UsageError } from '../output.js'

export interface GivenRequest {
  method: string
  /** Without the query. */
  path: string
  query: Record<string, string>
  /** The query as it was written. */
  queryText: string
  /** By lower-case name. */
  headers: Record<string, string>
  body: string
}

/** Parses a request; `path` and `method` belong to a body without them. Throws a UsageError if the text is not a request. */
export function requestIn(text: string, path?: string, method?: string): GivenRequest {
  const head = /^\s*([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?\r?\n/.exec(text)
  if (head === null) {
    if (path === undefined) throw new UsageError('A body alone does not say where it goes: add --path, or give the whole request.')
    return { ...target(path), method: method ?? 'POST', headers: { 'content-type': 'application/json' }, body: text }
  }
  const rest = text.slice(head[0].length)
  const end = /\r?\n\r?\n/.exec(`\n${rest}`)
  const lines = (end ? rest.slice(0, Math.max(0, end.index - 1)) : rest).split(/\r?\n/)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const found = /^([^:\s]+):\s*(.*)$/.exec(line)
    if (found) headers[(found[1] as string).toLowerCase()] = (found[2] as string).trim()
  }
  const body = end ? rest.slice(end.index - 1 + end[0].length) : ''
  return { ...target(head[2] as string), method: head[1] as string, headers, body }
}

/** What the options of a curl command say of its request. */
interface Curl {
  url?: string
  method?: string
  headers: Record<string, string>
  data: string[]
  /** Whether the data belongs into the query. */
  isGet: boolean
}

/** Options without a value that say nothing of the request. */
const FLAGS = new Set([
  ...['-s', '-S', '-i', '-v', '-L', '-f', '-k', '-N', '-g', '-q', '-#', '-4', '-6'],
  ...['--silent', '--show-error', '--include', '--verbose', '--location', '--fail', '--fail-with-body', '--insecure', '--no-buffer'],
  ...['--globoff', '--progress-bar', '--compressed', '--http1.1', '--http2', '--ipv4', '--ipv6'],
])
/** Options whose value says nothing of the request. */
const IGNORED = new Set([
  ...['-o', '-m', '-w', '-x', '-c', '-D', '-E'],
  ...[
    '--output',
    '--max-time',
    '--write-out',
    '--proxy',
    '--cookie-jar',
    '--dump-header',
    '--cert',
    '--key',
    '--cacert',
    '--connect-timeout',
  ],
  ...['--retry', '--resolve'],
])

/** What an option with a value says of the request. */
const OPTIONS: Readonly<Record<string, (curl: Curl, value: string) => void>> = {
  ...both('-X', '--request', (curl, value) => {
    curl.method = value
  }),
  ...both('-H', '--header', ({ headers }, value) => addHeader(headers, value)),
  ...both('-d', '--data', ({ data }, value) => data.push(contentOf(value))),
  ...both('--data-ascii', '--data-binary', ({ data }, value) => data.push(contentOf(value))),
  '--data-raw': ({ data }, value) => data.push(value),
  '--json': ({ data, headers }, value) => {
    data.push(contentOf(value))
    headers['content-type'] = 'application/json'
  },
  ...both('-u', '--user', ({ headers }, value) => {
    headers.authorization = `Basic ${Buffer.from(value).toString('base64')}`
  }),
  ...both('-A', '--user-agent', ({ headers }, value) => {
    headers['user-agent'] = value
  }),
  ...both('-b', '--cookie', ({ headers }, value) => {
    headers.cookie = value
  }),
  ...both('-e', '--referer', ({ headers }, value) => {
    headers.referer = value
  }),
  '--url': (curl, value) => {
    curl.url = value
  },
}

function both<Said>(short: string, long: string, said: Said): Record<string, Said> {
  return { [short]: said, [long]: said }
}

/** The data of an option: a text, or `@` and the name of a file. */
function contentOf(value: string): string {
  return value.startsWith('@') ? readInput(value.slice(1)) : value
}

/** Parses a curl command. Throws a UsageError for invalid text, and for unsupported options. */
export function requestOfCurl(line: string): GivenRequest {
  const words = wordsOf(line)
  if (words[0] === 'curl') words.shift()
  const curl: Curl = { headers: {}, data: [], isGet: false }
  const value = (option: string): string => {
    const next = words.shift()
    if (next === undefined) throw new UsageError(`${option} of curl has no value.`)
    return next
  }
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('-') || word === '-') curl.url = word
    else if (FLAGS.has(word)) continue
    else if (word === '-G' || word === '--get') curl.isGet = true
    else if (IGNORED.has(word)) value(word)
    else if (Object.hasOwn(OPTIONS, word)) OPTIONS[word]?.(curl, value(word))
    else if (/^-[^-]./.test(word)) words.unshift(...separate(word))
    else throw new UsageError(`The option ${word} of curl is not supported: give the request as an HTTP message on stdin.`)
  }
  return requestSaid(curl)
}

/** The first option of a cluster such as `-sS` or `-XPOST`, and what follows it: its value, or more options. */
function separate(cluster: string): string[] {
  const [first, rest] = [cluster.slice(0, 2), cluster.slice(2)]
  return [first, FLAGS.has(first) || first === '-G' ? `-${rest}` : rest]
}

function requestSaid({ url, method, headers, data, isGet }: Curl): GivenRequest {
  if (url === undefined) throw new UsageError('The curl command has no URL.')
  const body = data.join('&')
  if (isGet && body !== '')
    return { ...target(`${url}${url.includes('?') ? '&' : '?'}${body}`), method: method ?? 'GET', headers, body: '' }
  if (data.length > 0) headers['content-type'] ??= 'application/json'
  return { ...target(url), method: method ?? (data.length > 0 ? 'POST' : 'GET'), headers, body }
}

function addHeader(headers: Record<string, string>, text: string): void {
  const at = text.indexOf(':')
  if (at > 0) headers[text.slice(0, at).trim().toLowerCase()] = text.slice(at + 1).trim()
}

function target(text: string): Pick<GivenRequest, 'path' | 'query' | 'queryText'> {
  if (!URL.canParse(text, 'http://gateway')) throw new UsageError(`${text} is not a URL.`)
  const { pathname, search, searchParams } = new URL(text, 'http://gateway')
  return { path: pathname, query: Object.fromEntries(searchParams), queryText: search.slice(1) }
}

/** Splits a line into words as a shell does: quotes, and backslashes. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line[at] as string
    if (character === '$' && line[at + 1] === "'") {
      const { text, end } = escaped(line, at + 2)
      word = (word ?? '') + text
      at = end
    } else if (character === "'") {
      const end = line.indexOf("'", at + 1)
      if (end < 0) throw new UsageError('A quote of the curl command is not closed.')
      word = (word ?? '') + line.slice(at + 1, end)
      at = end
    } else if (character === '"') {
      word ??= ''
      for (at++; line[at] !== '"'; at++) {
        if (at >= line.length) throw new UsageError('A quote of the curl command is not closed.')
        if (line[at] === '\\' && /["\\$`]/.test(line[at + 1] ?? '')) at++
        word += line[at]
      }
    } else if (character === '\\') {
      at++
      if (line[at] === '\r') at++
      if (line[at] !== '\n') word = (word ?? '') + (line[at] ?? '')
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (word !== undefined) words.push(word)
  return words
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** A text in `$'…'`, as browsers copy requests; `end` is the index of its closing quote. */
function escaped(line: string, from: number): { text: string; end: number } {
  let text = ''
  for (let at = from; at < line.length; at++) {
    if (line[at] === "'") return { text, end: at }
    if (line[at] !== '\\') {
      text += line[at]
      continue
    }
    const code = /^(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4}))/.exec(line.slice(at + 1))
    const letter = line[at + 1] ?? ''
    text += code ? String.fromCharCode(Number.parseInt((code[1] ?? code[2]) as string, 16)) : (ESCAPES[letter] ?? letter)
    at += code ? code[0].length : 1
  }
  throw new UsageError('A quote of the curl command is not closed.')
}
