// A page is cited for the words that the provider named, although it counts bytes of its parts and clients count characters of
// their texts; or for no words. The same answer as a stream cites the same pages.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Mapping, Reducer } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { list, object, string } from './dialects/help.js'
import type { Values } from './dialects/table.js'
import { CONTEXT, holds, plan, runs, TIMEOUT } from './plan.js'
import { cuts, reduce } from './streams.js'

const ctx = frozen(CONTEXT)
const said = fc.string({ unit: fc.constantFrom('a', 'B', '.', ' ', 'ü', 'ß', '€', '中', '😀', '\uffff'), minLength: 1, maxLength: 12 })

type Kind = 'text' | 'thought' | 'image' | 'code'
interface Cited {
  parts: { kind: Kind; text: string }[]
  sources: { url: string; part: number; words: string; from: number; to: number; isQuotation: boolean; isRepeated: boolean }[]
}

const cited: fc.Arbitrary<Cited> = fc
  .record({
    parts: fc.array(fc.record({ kind: fc.constantFrom<Kind>('text', 'text', 'thought', 'image', 'code'), text: said }), {
      minLength: 1,
      maxLength: 6,
    }),
    picks: fc.array(
      fc.record({ at: fc.nat(99), from: fc.nat(99), size: fc.nat(99), isQuotation: fc.boolean(), isRepeated: fc.boolean() }),
      {
        maxLength: 5,
      },
    ),
  })
  .map(({ parts: given, picks }) => {
    // Pieces of one kind that follow each other in a stream are one part.
    const parts = given.filter(({ kind }, at) => !['text', 'thought'].includes(kind) || given[at - 1]?.kind !== kind)
    const texts = parts.flatMap(({ kind }, at) => (kind === 'text' ? [at] : []))
    const sources = (texts.length === 0 ? [] : picks).map(({ at, from, size, ...pick }, number) => {
      const part = texts[at % texts.length] as number
      const characters = [...string(parts[part]?.text)]
      const start = from % characters.length
      const end = start + 1 + (size % (characters.length - start))
      const before = texts.filter(one => pick.isQuotation && one < part).map(one => string(parts[one]?.text))
      const bytes = (count: number): number => Buffer.byteLength(before.join('') + characters.slice(0, count).join(''))
      const words = characters.slice(start, end).join('')
      return { url: `https://${number}.example`, part, words, from: bytes(start), to: bytes(end), ...pick }
    })
    return { parts, sources }
  })

const partOf = (kind: Kind, text: string): Values =>
  kind === 'image'
    ? { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
    : kind === 'code'
      ? { executableCode: { language: 'PYTHON', code: text } }
      : { text, ...(kind === 'thought' && { thought: true }) }

const endOf = ({ sources }: Cited): Values => ({
  finishReason: 'STOP',
  groundingMetadata: {
    groundingChunks: sources.map(({ url }) => ({ web: { uri: url } })),
    groundingSupports: sources.flatMap(({ part, words, from, to, isQuotation, isRepeated }, number) =>
      isQuotation
        ? []
        : [
            {
              segment: { partIndex: part, startIndex: from, endIndex: to, ...(isRepeated && { text: words }) },
              groundingChunkIndices: [number],
            },
          ],
    ),
  },
  citationMetadata: {
    citationSources: sources.flatMap(({ url, from, to, isQuotation }) =>
      isQuotation ? [{ uri: url, startIndex: from, endIndex: to }] : [],
    ),
  },
})

const between = (text: string, from: unknown, to: unknown): string => [...text].slice(Number(from), Number(to)).join('')

/** Of each client: a request for a search, and the words of each page in a whole answer and in the events of a stream. */
const CLIENTS: Readonly<
  Record<string, { asking: Values; whole(answer: Values): [string, string][]; stream(events: Values[]): [string, string][] }>
> = {
  responses: {
    asking: { model: 'm', input: 'Hi', tools: [{ type: 'web_search' }] },
    whole: ({ output }) =>
      list(output).flatMap(item =>
        list(item.content).flatMap(part =>
          list(part.annotations).map((one): [string, string] => [
            string(one.url),
            between(string(part.text), one.start_index, one.end_index),
          ]),
        ),
      ),
    stream(events) {
      return this.whole(object(events.at(-1)?.response))
    },
  },
  chat: {
    asking: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], web_search_options: {} },
    whole: ({ choices }) => {
      const message = object(list(choices)[0]?.message)
      return list(message.annotations).map(({ url_citation }): [string, string] => {
        const one = object(url_citation)
        return [string(one.url), between(string(message.content), one.start_index, one.end_index)]
      })
    },
    stream(events) {
      const deltas = events.map(event => object(list(event.choices)[0]?.delta))
      const message = {
        content: deltas.map(delta => string(delta.content)).join(''),
        annotations: deltas.flatMap(delta => list(delta.annotations)),
      }
      return this.whole({ choices: [{ message }] })
    },
  },
  messages: {
    asking: {
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
    whole: ({ content }) =>
      list(content).flatMap(block => list(block.citations).map((one): [string, string] => [string(one.url), string(one.cited_text)])),
    stream(events) {
      const citations = events.map(event => object(event.delta).citation).filter(one => one !== undefined)
      return this.whole({ content: [{ citations }] })
    },
  },
}

for (const [client, { asking, ...read }] of Object.entries(CLIENTS)) {
  const mapping = plan.mappings[`${client}-to-generate`] as Mapping
  const carry = frozen(mapping.carry?.(frozen(asking), ctx))
  const pages = (given: [string, string][]): Record<string, string> => Object.fromEntries(given)

  describe(client, () => {
    test('each page of a whole answer is cited for its words', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(cited, given => {
          const parts = given.parts.map(({ kind, text }) => partOf(kind, text))
          const answer = wire(mapping.response?.(frozen({ candidates: [{ content: { parts }, ...endOf(given) }] }), ctx, carry)) as Values
          expect(pages(read.whole(answer)), JSON.stringify(answer)).toEqual(pages(given.sources.map(({ url, words }) => [url, words])))
        }),
        runs(120),
      )
    })

    test('and each page of a stream, or for none if its text has ended', { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(cited, cuts, (given, cut) => {
          const pieces = given.parts.flatMap(({ kind, text }) =>
            (kind === 'image' || kind === 'code' ? [text] : cut(text)).map(piece => partOf(kind, piece)),
          )
          const events = pieces.map(part => ({ candidates: [{ content: { parts: [part] } }] }))
          const { events: made } = reduce(mapping.stream as Reducer, [...events, { candidates: [endOf(given)] }], ctx, carry)
          const lastText = given.parts.findLastIndex(({ kind }) => kind === 'text' || kind === 'code')
          const begins = 1 + given.parts.findLastIndex(({ kind }, at) => at < lastText && kind !== 'text' && kind !== 'code')
          // After an image some clients have no open text for a page; what they get is right.
          const got = pages(read.stream(made))
          const meant = pages(given.sources.map(({ url, part, words }) => [url, part >= begins ? words : '']))
          const isOpen = given.parts.slice(lastText + 1).every(({ kind }) => kind === 'text' || kind === 'code')
          const wanted = isOpen ? meant : Object.fromEntries(Object.keys(got).map(url => [url, meant[url]]))
          expect(got, JSON.stringify(made)).toEqual(wanted)
        }),
        runs(120),
      )
    })
  })
}
