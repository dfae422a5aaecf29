// Streams that pass keep every byte, whatever their line ends and however the network cuts them; what the gateway adds uses
// the same line ends.

import { expect, test } from 'vitest'
import { dialects } from './dialects.js'
import { ask, setUp } from './fake-upstreams.js'
import { chunk, type Script, streamHead } from './upstream.js'

const NAMES = ['chat', 'messages', 'generate', 'responses'] as const
const ENDS: [string, string][] = [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
]
const TABLE = NAMES.flatMap(name => ENDS.map(([end, text]): [(typeof NAMES)[number], string, string] => [name, end, text]))

/** Without ids that are sealed for the caller. */
const plain = (text: string): string => text.replaceAll(/"resp_[^"]*"/g, '"id"')

test.each(TABLE)('%s with %s: a stream can be cut at any byte', async (name, _end, text) => {
  const dialect = dialects[name]
  const whole = (dialect.begin + dialect.text('Hi') + dialect.end).replaceAll('\n', text)
  let cut = 0
  const halves: Script = socket => {
    socket.setNoDelay(true)
    socket.write(streamHead + (cut === 0 ? '' : chunk(whole.slice(0, cut))))
    // Two reads of the gateway, as a rule; where they become one, another cut shows the same.
    setImmediate(() => setImmediate(() => socket.write(chunk(whole.slice(cut)) + chunk(''))))
  }
  const { gateway } = await setUp([halves], {}, dialect.provider)
  // The beginning is alike for all cuts; what counts are the line ends, and the end.
  const cuts = [...whole].flatMap((letter, index) => (/[\r\n]/.test(letter) || index > whole.length - 8 ? [index, index + 1] : []))
  // What chat clients ask for, so that nothing is left out of the stream for them.
  const body = JSON.stringify({ ...dialect.body(true), ...(name === 'chat' && { stream_options: { include_usage: true } }) })
  for (cut of new Set(cuts)) {
    const response = await ask(gateway, { dialect, stream: true, body })
    const received = plain(await response.text())
    if (received !== plain(whole)) expect({ cut, received }).toEqual({ cut, received: plain(whole) })
  }
})

test.each(TABLE)('%s with %s: an error has the line ends of the stream', async (name, _end, text) => {
  const dialect = dialects[name]
  const begin = (dialect.begin + dialect.text('Hi')).replaceAll('\n', text)
  const cutOff: Script = socket => {
    socket.write(streamHead + chunk(begin))
    setImmediate(() => socket.destroy())
  }
  const { gateway } = await setUp([cutOff], {}, dialect.provider)
  const received = plain(await (await ask(gateway, { dialect, stream: true })).text())
  expect(received.startsWith(plain(begin))).toBe(true)
  const added = received.slice(plain(begin).length)
  expect(added).toContain('error')
  expect(added.replaceAll(text, '')).not.toMatch(/[\r\n]/)
})
