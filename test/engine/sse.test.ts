// Server-sent events, however the network cut them and however their lines end.

import { describe, expect, test } from 'vitest'
import { createBlocks, parseEvents } from '../../engine/sse.js'

type Event = [data: string, event: string | undefined]

function feed(pieces: Buffer[]): Event[] {
  const blocks = createBlocks(1 << 20)
  const events: Event[] = []
  for (const piece of pieces) {
    const block = blocks.push(piece)
    if (block) parseEvents(block.toString('utf8'), (data, event) => events.push([data, event]))
  }
  const rest = blocks.rest()
  if (rest) parseEvents(rest.toString('utf8'), (data, event) => events.push([data, event]))
  return events
}

const TEXTS: [string, string, Event[]][] = [
  ['one event', 'data: {"a":1}\n\n', [['{"a":1}', undefined]]],
  [
    'named events',
    'event: x\ndata: 1\n\nevent: y\ndata: 2\n\n',
    [
      ['1', 'x'],
      ['2', 'y'],
    ],
  ],
  ['no space after the colon', 'event:x\ndata:1\n\n', [['1', 'x']]],
  [
    'comments, ids and retries',
    ': hi\nid: 7\nretry: 5\ndata: 1\n\n: ping\n\ndata: 2\n\n',
    [
      ['1', undefined],
      ['2', undefined],
    ],
  ],
  ['data of several lines', 'data: a\ndata: b\n\n', [['a\nb', undefined]]],
  [
    'characters of two, three and four bytes',
    'data: é€😀\n\ndata: ñ\n\n',
    [
      ['é€😀', undefined],
      ['ñ', undefined],
    ],
  ],
  ['a byte order mark', '\uFEFFdata: 1\n\n', [['1', undefined]]],
  [
    'no blank line at the end',
    'data: 1\n\ndata: [DONE]',
    [
      ['1', undefined],
      ['[DONE]', undefined],
    ],
  ],
  [
    'bare blank lines',
    '\n\ndata: 1\n\n\n\ndata: 2\n\n',
    [
      ['1', undefined],
      ['2', undefined],
    ],
  ],
  ['fields that only begin alike', 'database: x\ndata: 1\n\n', [['1', undefined]]],
]

describe.each(TEXTS)('%s', (_name, text, expected) => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('lines end with %s, cut at every byte', (_ending, ending) => {
    const bytes = Buffer.from(text.replaceAll('\n', ending))
    expect(feed([bytes])).toEqual(expected)
    expect(feed([...bytes].map(byte => Buffer.from([byte])))).toEqual(expected)
    for (let at = 0; at <= bytes.length; at++) expect(feed([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected)
  })
})

test('an event over the limit is an error, not memory', () => {
  const blocks = createBlocks(100)
  expect(() => {
    for (let count = 0; count < 20; count++) blocks.push(Buffer.from('data: 0123456789'))
  }).toThrow(RangeError)
})
