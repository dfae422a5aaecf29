// Parses a client's request: an HTTP message, a curl command, or a body.

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

/** Parses a curl command. Throws a UsageError for invalid text, and for unsupported options. */
export function requestOfCurl(line: string): GivenRequest {
  const words = wordsOf(line)
  if (words[0] === 'curl') words.shift()
  let url: string | undefined
  let method: string | undefined
  const headers: Record<string, string> = {}
  const data: string[] = []
  while (words.length > 0) {
    const word = words.shift() as string
    const value = (): string => {
      const next = words.shift()
      if (next === undefined) throw new UsageError(`${word} of curl has no value.`)
      return next
    }
    if (word === '-X' || word === '--request') method = value()
    else if (word === '-H' || word === '--header') addHeader(headers, value())
    else if (/^(?:-d|--data|--data-raw|--data-binary|--data-ascii)$/.test(word)) data.push(value())
    else if (word === '--json') {
      data.push(value())
      headers['content-type'] = 'application/json'
    } else if (word === '--url') url = value()
    else if (word === '-o' || word === '--output' || word === '-m' || word === '--max-time') value()
    else if (/^-[a-zA-Z#]+$|^--(?:silent|no-buffer|include|verbose|location|compressed|fail|show-error|fail-with-body)$/.test(word))
      continue
    else if (word.startsWith('-')) throw new UsageError(`The option ${word} of curl is not supported.`)
    else url = word
  }
  if (url === undefined) throw new UsageError('The curl command has no URL.')
  if (data.length > 0) headers['content-type'] ??= 'application/json'
  return { ...target(url), method: method ?? (data.length > 0 ? 'POST' : 'GET'), headers, body: data.join('&') }
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
    if (character === "'") {
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
