// Server-sent events, however the network cuts them and whatever their line ends.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createBlocks, endOfEvent, parseBlock, parseEvents } from '../../engine/wire/sse.js'

const LIMIT = 1 << 20

function feed(pieces: readonly Buffer[], limit = LIMIT): string[] {
  const blocks = createBlocks(limit)
  const events: string[] = []
  const take = (block: Buffer | undefined): void => {
    if (block) parseEvents(block.toString('utf8'), data => events.push(data))
  }
  for (const piece of pieces) take(blocks.push(piece))
  take(blocks.rest())
  return events
}

/** All that a sender may write, with LF for the line end, and what a reader must make of it. */
const TEXTS: [string, string, string[]][] = [
  ['one event', 'data: {"a":1}\n\n', ['{"a":1}']],
  ['named events', 'event: x\ndata: 1\n\nevent: y\ndata: 2\n\n', ['1', '2']],
  ['a name after its data', 'data: 1\nevent: x\n\n', ['1']],
  ['no space after the colon', 'event:x\ndata:1\n\n', ['1']],
  ['a second space, which is data', 'data:  1\n\n', [' 1']],
  ['a space at the end of a line', 'data: 1 \n\n', ['1 ']],
  ['colons in data', 'data: a: b: c\n\n', ['a: b: c']],
  ['comments, ids and retries', ': hi\nid: 7\nretry: 5\ndata: 1\n\n: ping\n\ndata: 2\n\n', ['1', '2']],
  ['a comment inside an event', 'data: a\n: no\ndata: b\n\n', ['a\nb']],
  ['data of several lines', 'data: a\ndata: b\n\n', ['a\nb']],
  ['data with an empty line among its lines', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
  ['data without a colon', 'data\n\n', ['']],
  ['data that is empty', 'data:\n\ndata: \n\n', ['', '']],
  ['a name without data, which is no event', 'event: x\n\ndata: 1\n\n', ['1']],
  ['characters of two, three and four bytes', 'data: é€😀\n\ndata: ñ\n\n', ['é€😀', 'ñ']],
  ['a byte order mark', '\uFEFFdata: 1\n\n', ['1']],
  ['a byte order mark inside data', 'data: \uFEFF1\n\n', ['\uFEFF1']],
  ['no blank line at the end', 'data: 1\n\ndata: [DONE]', ['1', '[DONE]']],
  ['half a line end at the end', 'data: 1\n\ndata: [DONE]\n', ['1', '[DONE]']],
  ['bare blank lines', '\n\ndata: 1\n\n\n\ndata: 2\n\n', ['1', '2']],
  ['unknown fields with a known beginning', 'database: x\neventual: y\ndata: 1\n\n', ['1']],
  ['unknown fields in capitals', 'DATA: x\ndata: 1\n\n', ['1']],
  ['a line that begins with a space', ' data: x\ndata: 1\n\n', ['1']],
  ['nothing', '', []],
  ['only comments', ': a\n\n: b\n\n', []],
]

describe.each(TEXTS)('%s', (_name, text, expected) => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('is read with %s line ends, cut at every one, two and all offsets', (_ending, ending) => {
    const bytes = Buffer.from(text.replaceAll('\n', ending))
    expect(feed([bytes])).toEqual(expected)
    expect(feed([...bytes].map(byte => Buffer.from([byte])))).toEqual(expected)
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const found = feed([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)])
        if (JSON.stringify(found) !== JSON.stringify(expected)) expect({ first, second, found }).toEqual({ first, second, found: expected })
      }
    }
  })
})

test('events of any text are read, with any line ends and cuts', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 12 }).map(text => text.replaceAll(/[\r\n\uFEFF]/g, ''))
  const event = fc.record({
    lines: fc.array(line, { minLength: 1, maxLength: 3 }),
    name: fc.option(
      line.filter(text => text !== ''),
      { nil: undefined },
    ),
    comment: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5 }), fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat(40)), (events, end, sizes) => {
      const text = events.map(
        ({ lines, name, comment }) =>
          `${comment ? `: x${end}` : ''}${name === undefined ? '' : `event: ${name}${end}`}${lines.map(one => `data: ${one}${end}`).join('')}${end}`,
      )
      const bytes = Buffer.from(text.join(''))
      const pieces: Buffer[] = []
      let from = 0
      for (const size of sizes) {
        pieces.push(bytes.subarray(from, from + size))
        from = Math.min(from + size, bytes.length)
      }
      pieces.push(bytes.subarray(from))
      expect(feed(pieces)).toEqual(events.map(({ lines }) => lines.join('\n')))
    }),
    { numRuns: 1000 },
  )
})

test('lines of one stream may have different ends', () => {
  expect(feed([Buffer.from('data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\n')])).toEqual(['1', '2', '3', '4'])
})

test('events that are read one by one, from text or bytes, are those of the whole', () => {
  const piece = fc.constantFrom('\n', '\r', '\r\n', 'data: 1', 'data: é', 'data:', ': x', 'event: y', 'id: 3', '\n\n', '\r\r', '\r\n\r\n')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.nat(8), (pieces, wanted) => {
      const text = pieces.join('')
      const whole = dataOf(text)
      const single: string[] = []
      for (let start = 0; start < text.length; ) {
        const end = endOfEvent(text, start)
        const [data, ...more] = dataOf(text.slice(start, end))
        expect(more).toEqual([])
        if (data !== undefined) single.push(data)
        start = end
      }
      expect(single).toEqual(whole)
      const asked: string[] = []
      parseBlock(Buffer.from(text), data => asked.push(data) === wanted)
      expect(asked).toEqual(wanted === 0 ? whole : whole.slice(0, wanted))
    }),
    { numRuns: 5000 },
  )
})

function dataOf(text: string): string[] {
  const list: string[] = []
  parseEvents(text, data => {
    list.push(data)
  })
  return list
}

describe('blocks', () => {
  test('a block ends with the last complete event, and the rest waits', () => {
    const blocks = createBlocks(LIMIT)
    expect(blocks.push(Buffer.from('data: 1\n\ndata: 2\n\nda'))?.toString()).toBe('data: 1\n\ndata: 2\n\n')
    expect(blocks.push(Buffer.from('ta: 3'))).toBeUndefined()
    expect(blocks.push(Buffer.from('\n\n'))?.toString()).toBe('data: 3\n\n')
    expect(blocks.rest()).toBeUndefined()
  })

  test('no byte is lost or added at any cuts', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é'), maxLength: 9 })), texts => {
        const blocks = createBlocks(LIMIT)
        const pieces = texts.map(text => Buffer.from(text))
        const out: Buffer[] = []
        for (const piece of pieces) out.push(blocks.push(piece) ?? Buffer.alloc(0))
        out.push(blocks.rest() ?? Buffer.alloc(0))
        expect(Buffer.concat(out)).toEqual(Buffer.concat(pieces))
      }),
      { numRuns: 1000 },
    )
  })

  test('the rest is a copy, as the memory of a chunk may be reused', () => {
    const blocks = createBlocks(LIMIT)
    const chunk = Buffer.from('data: 1\n\ndata: 2')
    blocks.push(chunk)
    chunk.fill(0x78)
    expect(blocks.push(Buffer.from('\n\n'))?.toString()).toBe('data: 2\n\n')
  })

  test('the rest is returned once', () => {
    const blocks = createBlocks(LIMIT)
    blocks.push(Buffer.from('data: 1'))
    expect(blocks.rest()?.toString()).toBe('data: 1')
    expect(blocks.rest()).toBeUndefined()
  })

  test('an event over the limit is an error', () => {
    const blocks = createBlocks(100)
    expect(() => {
      for (let count = 0; count < 20; count++) blocks.push(Buffer.from('data: 0123456789'))
    }).toThrow(RangeError)
  })

  test('the limit is for one event, so that many events and one just under it pass', () => {
    const blocks = createBlocks(100)
    const event = `data: ${'x'.repeat(90)}\n\n`
    for (let count = 0; count < 20; count++) {
      expect(blocks.push(Buffer.from(event.slice(0, 50)))).toBeUndefined()
      expect(blocks.push(Buffer.from(event.slice(50)))?.toString()).toBe(event)
    }
  })
})
