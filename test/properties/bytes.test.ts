// The same events in other bytes are the same stream: with other line ends, other cuts, and anything between events.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Json, ProviderPlan, Reducer, StreamFormat } from '../../engine/plan.js'
import { framings } from '../../engine/wire/framing.js'
import { parseEvents } from '../../engine/wire/sse.js'
import { chunk, startUpstream, type Upstream } from '../engine/upstream.js'
import { frozen } from '../fixtures.js'
import { KEY } from '../harness.js'
import { clientOf, providerOf, type Values } from './dialects/table.js'
import { startGateway } from './gateway.js'
import { CONTEXT, holds, plan, project, runs, same, schemaOf, TIMEOUT } from './plan.js'
import { cuts, reduce } from './streams.js'

const tame = arbitraries(project.schemas, { strange: false })

type Between = 'nothing' | 'comment' | 'noise' | 'field'

/** How a provider might write its events, and a network carry them. */
interface Writing {
  end: '\n' | '\r\n' | '\r'
  space: boolean
  /** What comes before an event: nothing, a comment, an event without meaning, an unused field. */
  between: Between[]
  /** The lengths of the pieces that the bytes come in. */
  pieces: number[]
}
const writing: fc.Arbitrary<Writing> = fc.record({
  end: fc.constantFrom('\n', '\r\n', '\r'),
  space: fc.boolean(),
  between: fc.array(fc.constantFrom('nothing', 'comment', 'noise', 'field'), { maxLength: 6 }),
  pieces: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 }),
})

function bytesOf(events: readonly Values[], noise: readonly Values[], format: StreamFormat, how: Writing): Buffer {
  const { one, other } = format.framing === 'ndjson' ? lines(how) : serverSent(how, format)
  const { between } = how
  const text = events.flatMap((event, at) => {
    const before = between.length === 0 ? 'nothing' : (between[at % between.length] as Between)
    return [...(before === 'noise' && at > 0 ? noise.map(one) : [other[before] ?? '']), one(event)]
  })
  return Buffer.from(text.join('') + (other.sentinel ?? ''))
}

/** How one event is written, and what is none. */
interface Spelling {
  one(event: Values): string
  other: Partial<Record<Between | 'sentinel', string>>
}

function serverSent({ end, space }: Writing, { eventLine, sentinel }: StreamFormat): Spelling {
  const gap = space ? ' ' : ''
  const line = (name: string, value: string): string => `${name}:${gap}${value}${end}`
  return {
    one: event => (eventLine === undefined ? '' : line('event', String(event[eventLine]))) + line('data', JSON.stringify(event)) + end,
    other: {
      comment: `: still there${end}${end}`,
      field: `retry:${gap}3000${end}id:${gap}1${end}${end}`,
      ...(sentinel !== undefined && { sentinel: line('data', sentinel) + end }),
    },
  }
}

/** Lines end with a line feed. There is nothing beside them but blank ones. */
function lines({ end, space }: Writing): Spelling {
  const stop = end === '\n' ? end : '\r\n'
  return { one: event => (space ? ' ' : '') + JSON.stringify(event) + stop, other: { comment: stop, field: ` ${stop}` } }
}

function* piecesOf(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? bytes.length
    yield bytes.subarray(start, start + length)
    start += length
  }
}

/** The events that the engine's parser finds. */
function eventsIn(bytes: Buffer, lengths: readonly number[], { framing, sentinel }: StreamFormat): Values[] {
  const blocks = framings[framing].blocks(1 << 20)
  const found: Values[] = []
  const take = (block: Buffer | undefined): void => {
    if (block)
      parseEvents(block.toString('utf8'), data => {
        if (data !== sentinel) found.push(JSON.parse(data) as Values)
      })
  }
  for (const piece of piecesOf(bytes, lengths)) take(blocks.push(piece))
  take(blocks.rest())
  return found
}

const LINE_END = Buffer.from('\r\n')

let upstream: Upstream
let gateway: { url: string; close(): Promise<void> }
/** What the upstream answers next. */
let script: { bytes: Buffer; pieces: readonly number[]; type: string } = { bytes: Buffer.alloc(0), pieces: [], type: '' }

/** Providers that speak one dialect alone, so that every pair is to be had. */
const providers: Readonly<Record<string, ProviderPlan>> = Object.fromEntries(
  Object.keys(plan.dialects).map(dialect => [
    `only_${dialect}`,
    {
      name: `only_${dialect}`,
      title: dialect,
      base: 'http://127.0.0.1',
      credential: { header: 'authorization', prefix: 'Bearer ' },
      headers: {},
      models: [],
      traits: {},
      speaks: { [dialect]: { method: 'POST', path: '/', beside: false, keeps: true } },
    },
  ]),
)
const paths = Object.fromEntries(
  Object.keys(plan.dialects).map(dialect => [
    dialect,
    plan.routes.find(
      route =>
        route.dialect === dialect &&
        route.answer === undefined &&
        (typeof route.stream === 'object' || route.stream === true || plan.dialects[dialect]?.stream?.flag),
    ),
  ]),
)

beforeAll(async () => {
  upstream = await startUpstream(socket => {
    void (async () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${script.type}\r\ntransfer-encoding: chunked\r\n\r\n`)
      for (const piece of piecesOf(
        script.bytes,
        script.pieces.map(length => length * 8),
      )) {
        socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, LINE_END]))
        await new Promise(done => setImmediate(done))
      }
      socket.write(chunk(''))
    })()
  })
  const names = Object.keys(providers)
  gateway = await startGateway(
    {
      upstreams: Object.fromEntries(names.map(name => [name, { provider: name, base: upstream.url, secret: 'secret' }])),
      models: Object.fromEntries(names.map(name => [`at-${name}`, { targets: [{ upstream: name, model: 'upstream-model' }] }])),
    },
    { ...plan, providers },
  )
})
afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to, stream } = mapping
  const format = plan.dialects[to]?.stream
  const [client, provider] = [clientOf(from), providerOf(to)]
  if (stream === undefined || format === undefined || client === undefined || provider === undefined) continue
  const whole = tame
    .of(schemaOf(to, 'response'), { schema: provider.answer, base: schemaId(to, 'response') })
    .map(value => provider.settle(value as Values))

  describe(pair, () => {
    test('a stream that is read from bytes gives the same events, however the bytes are written and split', {
      timeout: TIMEOUT,
    }, async () => {
      const ctx = frozen(CONTEXT)
      const carry = frozen(mapping.carry?.(frozen(client.asking), ctx))
      await holds(
        fc.property(whole, cuts, writing, (answer, cut, how) => {
          const events = provider.unfold(answer, cut)
          const read = eventsIn(bytesOf(events, provider.noise, format, how), how.pieces, format)
          same(reduce(stream as Reducer, read, ctx, carry), reduce(stream as Reducer, events, ctx, carry), 'what comes of the bytes')
        }),
        runs(120),
      )
    })

    test('a gateway gives the same answer, however the bytes are written and split', { timeout: TIMEOUT }, async () => {
      const route = paths[from]
      if (route === undefined) throw new Error(`there is no route of ${from} that streams`)
      const model = `at-only_${to}`
      const path = (route.paths[0] as string).replace(/\{\+?model\}/, model).replace(/\{\+?\w+\}/, model)
      const isAsked = route.stream === undefined || typeof route.stream === 'object'
      const request = {
        ...client.asking,
        ...('model' in client.asking && { model }),
        ...(isAsked && plan.dialects[from]?.stream?.flag && { stream: true }),
      }
      const url = `${gateway.url}${path}?${new URLSearchParams(route.when?.query)}`
      const ask = async (bytes: Buffer, pieces: readonly number[]): Promise<Values[]> => {
        script = { bytes, pieces, type: framings[format.framing].type }
        const response = await fetch(url, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
        })
        const text = await response.text()
        expect(response.status, text).toBe(200)
        return eventsIn(Buffer.from(text), [], plan.dialects[from]?.stream as StreamFormat).filter(
          event => !client.noise.some(noise => JSON.stringify(noise) === JSON.stringify(event)),
        )
      }
      await holds(
        fc.asyncProperty(whole, cuts, writing, async (answer, cut, how) => {
          // An answer that ends broken is an error, in the stream or before it.
          if (mapping.failure?.(answer as Json, CONTEXT, mapping.carry?.(client.asking, CONTEXT)) !== undefined) return
          const events = provider.unfold(answer, cut)
          const plain: Writing = { end: '\n', space: true, between: [], pieces: [] }
          const told = await ask(bytesOf(events, provider.noise, format, how), how.pieces)
          const meant = await ask(bytesOf(events, provider.noise, format, plain), [])
          same(client.faults(told), [], 'what is against the grammar')
          same(client.essence(client.fold(told)), client.essence(client.fold(meant)), 'what the gateway says')
        }),
        Math.min(runs(12), 200),
      )
    })
  })
}
