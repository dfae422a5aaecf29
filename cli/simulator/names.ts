// Model names that select the behaviour of the simulated model: `sim`, then words in any order, as in `sim-tools-20ms`.
// simulator/README.md lists them; a test compares both.

import { instance } from './instance.js'
import type { Asked, Script } from './script.js'

type Word = {
  /** The word as in the README; `<n>` is a number. */
  name: string
  says: string
  script?: (number: number) => Script
  /** Instead: a script that depends on the request. */
  reply?: (asked: Asked) => Script
}

const RETRIED = [429, 503, 529]
const PIECE = 40

export const WORDS: Word[] = [
  {
    name: '<n>',
    says: 'the text has n words, each an event of a stream; a requested text is cut into n pieces',
    script: n => ({ chunks: n }),
  },
  {
    name: '<n>k',
    says: 'the text, the file or the output of a socket has n thousand bytes',
    script: n => ({ text: prose(n * 1000).slice(0, n * 1000), bytes: n * 1000 }),
  },
  { name: '<n>m', says: 'the same with millions, for files and sockets', script: n => ({ bytes: n * 1_000_000 }) },
  { name: '<n>ms', says: 'n milliseconds between the events of a stream', script: n => ({ pace: n }) },
  { name: 'slow-<n>ms', says: 'n milliseconds before the headers', script: n => ({ delay: n }) },
  {
    name: 'utf8',
    says: 'the text has characters of two, three and four bytes',
    script: () => ({ text: 'Grüße, 世界! 🙂 Čau, 你好 🙃 naïve 🏳️‍🌈 konec.' }),
  },
  { name: 'empty', says: 'no text at all', script: () => ({ text: '' }) },

  {
    name: 'tools',
    says: 'calls the first tool offered, with arguments made from its schema; with the result, a text that contains it',
    reply: asked => calling(asked, 1),
  },
  {
    name: 'parallel',
    says: 'the same with two calls at once, interleaved if the dialect allows it',
    reply: asked => calling(asked, 2),
  },
  {
    name: 'json',
    says: 'the text is JSON: an instance of the requested schema',
    reply: asked => ({ text: JSON.stringify(asked.schema === undefined ? { answer: 'text' } : instance(asked.schema)) }),
  },
  {
    name: 'reasoning',
    says: 'signed reasoning, then the text; a request may turn it off',
    script: () => ({ reasoning: 'First the question is read, then the answer is written.' }),
  },
  { name: 'length', says: 'ended by the output limit', script: () => ({ finish: 'length' }) },
  { name: 'filter', says: 'ended by a content filter', script: () => ({ finish: 'filter' }) },
  {
    name: 'cached',
    says: 'usage: of 100 input tokens 80 were read from the cache and 10 written to it',
    script: () => ({ usage: { input: 100, cached: 80, cache_write: 10 } }),
  },

  { name: 'polls-<n>', says: 'a task is finished after n queries (default: 2)', script: polls => ({ polls }) },
  { name: 'failed', says: 'a task fails', script: () => ({ failed: true }) },
  { name: 'close-<n>', says: 'a socket is closed with this code after the first frame of the client', script: close => ({ close }) },

  { name: 'status-<n>', says: 'this error status; 429, 503 and 529 with `retry-after: 1`', script: status => ({ status }) },
  { name: 'retry-<n>', says: 'with a status: `retry-after` has n seconds', script: n => ({ error: { retry_after: n } }) },
  { name: 'html', says: '502 with a page of HTML, as a proxy in between would answer', script: page },
  { name: 'fail-<n>', says: 'the in-stream error of the dialect after n events', script: n => ({ fail_after: n }) },
  { name: 'cut-<n>', says: 'the connection breaks after n events', script: n => ({ cut_after: n }) },
  { name: 'torn-<n>', says: 'the same, in the middle of the next event', script: n => ({ torn_after: n }) },
  { name: 'stall-<n>', says: 'silence after n events; with 0, after the headers', script: n => ({ stall_after: n }) },
  { name: 'malformed-<n>', says: 'the event n has broken JSON', script: n => ({ malformed_at: n }) },
  { name: 'noend', says: 'the body ends without the event that proves the end', script: () => ({ no_end: true }) },
  { name: 'crlf', says: 'lines end in CR LF', script: () => ({ line_end: 'crlf' }) },
  { name: 'split-<n>', says: 'the stream is sent in pieces of n bytes, which may cut characters', script: n => ({ split: n }) },
  { name: 'alive', says: "the dialect's keep-alive before each event", script: () => ({ keep_alive: true }) },
]

const PATTERNS = WORDS.map(word => ({ word, pattern: new RegExp(`^${word.name.replace('<n>', '(\\d{1,7})')}(?:-|$)`) }))

/** The meaning of a name: a script for any request, or one that is made for each. Undefined: not a simulator name. */
export type Named<Meant> = { script: Meant } | { reply: (asked: Asked) => Meant }

/** The words may follow the name of a real model, for rules that match its name: `gemini-3-pro-sim-tools`. */
export function named(model: string): Named<Script> | undefined {
  const rest = /(?:^|[-/:])sim(?:-(.+))?$/.exec(model)
  if (!rest) return undefined
  let script: Script = {}
  let reply: ((asked: Asked) => Script) | undefined
  for (let text = rest[1] ?? ''; text !== ''; ) {
    const hit = PATTERNS.map(({ word, pattern }) => ({ word, found: pattern.exec(text) })).find(({ found }) => found !== null)
    if (!hit?.found) return undefined
    if (hit.word.script) script = joined(script, hit.word.script(Number(hit.found[1])))
    reply = hit.word.reply ?? reply
    text = text.slice(hit.found[0].length)
  }
  const said = reply
  return said ? { reply: asked => settled(joined(said(asked), script)) } : { script: settled(script) }
}

/** Later words override earlier ones; errors and usage are combined. */
function joined(first: Script, second: Script): Script {
  return {
    ...first,
    ...second,
    ...((first.error ?? second.error) && { error: { ...first.error, ...second.error } }),
    ...((first.usage ?? second.usage) && { usage: { ...first.usage, ...second.usage } }),
  }
}

function calling(asked: Asked, wanted: number): Script {
  if (asked.results.length > 0) return { text: `The tools answered: ${asked.results.map(result => result.text).join(' | ')}` }
  const offered = asked.tools.slice(0, asked.serial ? 1 : wanted)
  if (offered[0] === undefined) return { text: 'No tool was offered.' }
  // A single tool is called twice, with different arguments.
  while (offered.length < wanted && !asked.serial) offered.push(offered[0])
  return { tools: offered.map((tool, index) => ({ name: tool.name, arguments: instance(tool.schema ?? { type: 'object' }, index) })) }
}

function page(): Script {
  const raw =
    '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n'
  return { status: 502, headers: { 'content-type': 'text/html' }, raw }
}

/** Consequences of the words together, in any order. */
function settled(script: Script): Script {
  if (RETRIED.includes(script.status ?? 0)) return { ...script, error: { retry_after: 1, ...script.error } }
  if (script.text === undefined && script.tools === undefined && typeof script.chunks === 'number') {
    const { chunks, ...rest } = script
    return { ...rest, text: prose(chunks) }
  }
  if (script.chunks === undefined && (script.text?.length ?? 0) >= 1000)
    return { ...script, chunks: Math.ceil((script.text?.length ?? 0) / PIECE) }
  return script
}

const VOCABULARY =
  'a gateway takes what one side says and hands it to the other side in words that it knows so nothing is lost on the way'.split(' ')

function prose(words: number): string {
  return Array.from({ length: words }, (_, index) => VOCABULARY[index % VOCABULARY.length]).join(' ')
}
