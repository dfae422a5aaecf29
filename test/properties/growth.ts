// How the cost of a mapping grows with what a caller or a provider can repeat: every list of every case, made longer and
// longer. It measures CPU, not time, and only ratios, so that neither the machine nor its load matters.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '../../codegen/read/yaml.js'
import type { Body, Context, Json, Mapping, Reducer } from '../../engine/plan.js'
import { CONTEXT } from '../fixtures.js'

interface Case {
  name: string
  request?: { in: Body; ctx?: Partial<Context> }
  response?: { in: Json; request?: Body }
  stream?: { in?: Json; on?: 'done' }[]
  refused?: unknown
}

type Path = (string | number)[]

/** Something that can be made longer, and what the mapping does with it. */
export interface Subject {
  what: string
  run(count: number): () => void
}

const root = join(import.meta.dirname, '../..')

/** The cases of a pair; of one without a mapping what clients ask and providers answer in those of other pairs. */
function casesOf(pair: string): Case[] {
  const own = casesIn(pair)
  if (own.length > 0) return own
  const [from, to] = pair.split('-to-')
  const others = readdirSync(join(root, 'mappings'))
  const asked = others.filter(name => name.startsWith(`${from}-to-`)).flatMap(casesIn)
  const answered = others.filter(name => name.endsWith(`-to-${to}`)).flatMap(casesIn)
  return [
    ...asked.flatMap(({ name, request }) => (request ? [{ name, request }] : [])),
    ...answered.flatMap(({ name, response, stream }) =>
      response || stream ? [{ name, ...(response && { response: { in: response.in } }), ...(stream && { stream }) }] : [],
    ),
  ]
}

function casesIn(pair: string): Case[] {
  const folder = join(root, 'mappings', pair, 'cases')
  const files = existsSync(folder) ? readdirSync(folder).filter(file => file.endsWith('.yaml')) : []
  return files.sort().flatMap(file => parseYaml(file, readFileSync(join(folder, file), 'utf8'), []).map(({ value }) => value as Case))
}

/** The paths of the lists in a value that are not empty. */
function listsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).flatMap(([key, item]) => listsIn(item, [...path, Array.isArray(value) ? Number(key) : key]))
  return Array.isArray(value) && value.length > 0 ? [path, ...inner] : inner
}

const at = (value: unknown, path: Path): unknown => path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value)

/** A value with something else at a path. */
function withAt(value: unknown, path: Path, item: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return item
  const inner = withAt((value as Record<string, unknown>)[key], rest, item)
  return Array.isArray(value) ? value.map((one, index) => (index === key ? inner : one)) : { ...(value as object), [key]: inner }
}

/** Members that tell one of a kind from the others, and those that count them. */
const NAMES = new Set(['id', 'call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'name', 'title', 'text', 'url', 'uri'])
const INDICES = new Set(['index', 'output_index', 'content_index', 'summary_index'])
/** A request asks for no more answers than this. */
const CHOICES = 128

/** The value for a later round: with ids, names and indices of its own. */
function another(value: unknown, round: number, span: number, key?: string, isChoice = false): unknown {
  if (typeof value === 'string') return key === undefined || NAMES.has(key) ? `${value}_${round}` : value
  if (typeof value === 'number')
    return key !== undefined && INDICES.has(key) ? (value + round * span) % (isChoice ? CHOICES : Number.POSITIVE_INFINITY) : value
  if (Array.isArray(value)) return value.map(item => another(item, round, span, 'item', key === 'choices' || key === 'candidates'))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, another(item, round, span, name, isChoice && name === 'index')]),
  )
}

/** So many items, which are these again and again. */
function repeated(items: readonly unknown[], count: number, isDistinct: boolean, isChoice = false): unknown[] {
  return Array.from({ length: count }, (_, index) => {
    const item = items[index % items.length]
    const round = Math.floor(index / items.length)
    return isDistinct && round > 0 ? another(item, round, items.length, undefined, isChoice) : item
  })
}

/** What a list holds, in words. */
function kindsIn(list: readonly unknown[]): string {
  const kind = (item: unknown): string => {
    if (typeof item !== 'object' || item === null) return typeof item
    const { type, role } = item as Record<string, unknown>
    return String(type ?? role ?? Object.keys(item).sort().join('+'))
  }
  return [...new Set(list.map(kind))].sort().join('|')
}

/** What fails fails at once: how much work it was is all that is asked here. */
function attempt(work: () => void): () => void {
  return () => {
    try {
      work()
    } catch {
      // A mapping may say what is wrong with a request that was only made to be long.
    }
  }
}

/** All that can be repeated in a mapping's cases, each kind of it once. */
export function subjectsOf(pair: string, mapping: Mapping): Subject[] {
  const found = new Map<string, Subject>()
  const add = (what: string, run: Subject['run']): void => {
    if (!found.has(what)) found.set(what, { what, run })
  }
  const lists = (part: string, value: Json, work: (value: Json) => void): void => {
    // A stream's own events are not all to come again.
    const all = listsIn(value).filter(path => part !== 'stream' || path.length > 1)
    const outer: Path[] = all.filter(path => path.every(key => typeof key === 'string'))
    const sets = [...all.map(path => [path]), ...(outer.length > 1 ? [outer] : [])]
    for (const paths of sets) {
      const kinds = paths.map(path => {
        const where = path.map(key => (typeof key === 'number' ? '[]' : key)).join('.')
        return `${where} of ${kindsIn(at(value, path) as unknown[])}`
      })
      for (const isDistinct of [true, false]) {
        add(`${part}: ${kinds.join(' and ')}, ${isDistinct ? 'distinct' : 'the same'}`, count => {
          let long: Json = value
          for (const path of paths)
            long = withAt(
              long,
              path,
              repeated(at(value, path) as unknown[], count, isDistinct, ['choices', 'candidates'].includes(String(path.at(-1)))),
            )
          return attempt(() => work(long))
        })
      }
    }
  }
  for (const { request, response, stream, refused } of casesOf(pair)) {
    const ctx = { ...CONTEXT, ...request?.ctx }
    const carryOf = (body: Body): Json => {
      let carry: Json
      attempt(() => {
        carry = mapping.carry?.(body, ctx)
      })()
      return carry
    }
    if (request !== undefined && refused === undefined)
      lists('request', request.in, value => {
        const body = value as Body
        mapping.refused?.(body, ctx)
        mapping.dropped?.(body, ctx)
        mapping.fetch?.(body, ctx)
        mapping.split?.(body, ctx)
        mapping.request?.(body, ctx, mapping.carry?.(body, ctx))
      })
    if (response !== undefined) {
      const carry = carryOf(response.request ?? request?.in ?? {})
      lists('response', response.in, value => {
        mapping.failure?.(value, ctx, carry)
        mapping.response?.(value, ctx, carry)
      })
    }
    const reducer = mapping.stream
    if (stream === undefined || reducer === undefined) continue
    const events = stream.filter(({ on }) => on !== 'done').map(event => event.in)
    const carry = carryOf(request?.in ?? {})
    lists('stream', { events }, value => reduce(reducer, (value as { events: Json[] }).events, ctx, carry))
    for (const [from, to] of spansOf(events))
      for (const isDistinct of [true, false]) {
        const part = events.slice(from, to)
        add(
          `stream: ${to - from === 1 ? 'an event' : 'events'} of ${kindsIn(part)} ${contentOf(part[0])}, ${isDistinct ? 'distinct' : 'the same'}`,
          count => {
            const long = [...events.slice(0, from), ...repeated(part, count, isDistinct), ...events.slice(to)]
            return attempt(() => reduce(reducer, long, ctx, carry))
          },
        )
      }
  }
  return [...found.values()]
}

function reduce(reducer: Reducer, events: readonly Json[], ctx: Context, carry: Json): void {
  const state = reducer.start()
  for (const event of events) reducer.event(state, event, ctx, carry, [])
  reducer.done(state, ctx, carry, [])
}

/** What begins or ends a stream comes once. */
const ONCE = /^(response\.(created|completed|incomplete|failed)|message_start|message_delta|message_stop|error)$/

/** The parts of a stream that may come again: all between its ends, every event, and what begins and ends together. */
function spansOf(events: readonly Json[]): [number, number][] {
  const kind = (event: Json | undefined): string => String((event as Record<string, unknown> | undefined)?.type)
  const spans: [number, number][] = events.map((_, index) => [index, index + 1])
  if (events.length > 2) spans.push([1, events.length - 1])
  events.forEach((event, from) => {
    if (!/start$|added$/.test(kind(event)) || from === 0) return
    const to = events.findIndex((other, index) => index > from && /stop$|item\.done$/.test(kind(other)))
    if (to > 0) spans.push([from, to + 1])
  })
  return spans.filter(([from, to]) => !events.slice(from, to).some(event => ONCE.test(kind(event))))
}

/** What an event brings, in words. */
function contentOf(event: Json | undefined): string {
  const inner = (value: unknown, ...path: Path): unknown =>
    path.reduce<unknown>((one, key) => (one as Record<string, unknown> | undefined)?.[key], value)
  const found = [
    inner(event, 'choices', 0, 'delta'),
    inner(event, 'delta'),
    inner(event, 'candidates', 0, 'content', 'parts', 0),
    inner(event, 'content_block'),
    inner(event, 'item'),
  ].find(value => typeof value === 'object' && value !== null)
  return found === undefined ? '' : `with ${String(inner(found, 'type') ?? Object.keys(found as object).join('+'))}`
}

/** The milliseconds of CPU that something takes, as the fastest of some runs has them. */
function costOf(work: () => void, runs: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

/** Whether something takes almost no time. To ask for the CPU takes longer than most of what is measured. */
function isNothing(work: () => void): boolean {
  const before = performance.now()
  work()
  return performance.now() - before < NOTHING
}

/** So many times as much is what costs are compared with. */
const TIMES = 16
/**
 * What grows linearly costs 16 times as much, and what grows with the square 256 times. Between them stands what a cache or the
 * collection of garbage makes dearer once, where much no longer fits: up to four times was seen on busy machines.
 */
const TOO_MUCH = 100
/** The milliseconds below which nothing is looked at further. */
const NOTHING = 2
/** The milliseconds of what was measured again that chance does not decide. */
const ENOUGH = 300
/** How often a cost is measured again, with four times as much of it: what grows too fast does so the more the longer it is. */
const TURNS = 3

/** The conversations of a pair: what only users say, and what a model answers in between. */
export function conversationsOf(subjects: readonly Subject[]): Subject[] {
  return subjects.filter(({ what }) => /^request: (messages|input|contents) of (user|(assistant|model)\|user), distinct$/.test(what))
}

/**
 * What is wrong with the cost of as many turns as a body of some megabytes has. What copies all of a list for each group of its
 * items is as quick as what is linear as long as the list is short.
 */
export function faultOfMany({ what, run }: Subject): string | undefined {
  const [few, many] = [run(1_024), run(65_536)]
  few()
  const least = costOf(few, 3)
  // A busy machine, and the collection of garbage, may make one run dearer, but hardly three.
  const most = costOf(many, 1) < least * 320 ? 0 : costOf(many, 2)
  return most < Math.max(least * 320, ENOUGH) ? undefined : `${what}: 1024 take ${least.toFixed(1)} ms, 65536 take ${most.toFixed(0)} ms`
}

/** What is wrong with how a cost grows; nothing where it is linear. */
export function faultOf({ what, run }: Subject, count: number): string | undefined {
  let told = ''
  // The first turn is short: most cost nothing even when there is much of them.
  for (let turn = 0; turn <= TURNS; turn++) {
    const many = run(count * TIMES)
    if (turn === 0 && isNothing(many)) return undefined
    const runs = turn === 0 ? 1 : 3
    // What is measured first is measured while its code is compiled, and a busy machine makes some runs dearer.
    const most = costOf(many, runs)
    if (most < NOTHING) return undefined
    const least = costOf(run(count), runs)
    if (most < least * TOO_MUCH) return undefined
    told = `${what}: ${count} take ${least.toFixed(2)} ms, ${count * TIMES} take ${most.toFixed(1)} ms`
    if (turn > 0 && most > ENOUGH) return told
    if (turn > 0) count *= 4
  }
  return told
}
