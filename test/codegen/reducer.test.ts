// The reducer of a stream, with what the compiler knows of its values: in every case it must do what the interpreter does.

import { describe, expect, test } from 'vitest'
import type { Schema } from '../../codegen/read/schemas.js'
import { told } from '../recorded.js'
import { both, CONTEXT, play, type WrittenMapping } from './compiled.js'

type Stream = NonNullable<WrittenMapping['stream']>

interface Reduced {
  name: string
  stream: Stream
  define?: Record<string, string>
  eventKind?: string
  events: unknown[]
  /** What is given for each event, and for the end. */
  out: unknown[][]
}

const REDUCERS: Reduced[] = [
  {
    name: 'a told term is written by the steps for that term, which see and set the state, in loops and at the end',
    eventKind: 'type',
    stream: {
      state: { texts: 0, marks: 0, last: '' },
      let: { mark: 'mark' },
      writes: {
        text: [
          { name: 'first', when: '$state.texts = 0', set: '{ "last": "begun" }', emit: '{ "begin": $told }' },
          { name: 'count', set: '{ "texts": $state.texts + 1 }', emit: '{ "text": $told, "was": $was.texts, "is": $state.texts }' },
        ],
        call: [{ name: 'call', when: '$told.name', emit: '{ "call": $told.name, "number": $told.number, "last": $state.last }' }],
        nothing: [],
        end: [{ name: 'end', emit: '{ "end": $told, "texts": $state.texts, "marks": $state.marks }' }],
      },
      steps: [
        { name: 'mark', when: '$mark', set: '{ "marks": $state.marks + 1, "last": "mark" }', tell: { text: '$mark & $state.marks' } },
        { name: 'both', on: ['both'], tell: { text: 'a', nothing: 'b', call: '{ "name": b, "number": $state.texts }' } },
        { for: 'list', let: { twice: '$item & $item' }, steps: [{ name: 'item', when: '$item != "x"', tell: { text: '$twice' } }] },
        { name: 'object', on: ['whole'], tell: { call: '$' } },
        { name: 'the end', on: ['done'], tell: { end: '$state.last' } },
      ],
    },
    events: [
      { mark: 'm' },
      { type: 'both', a: 'one', b: 'two' },
      { type: 'both', a: ['x', 'y'] },
      { list: ['p', 'x', 'q'] },
      { type: 'whole', name: 'n', number: 9 },
      { mark: 'k', list: 'z' },
    ],
    out: [
      [{ begin: 'm1' }, { text: 'm1', was: 0, is: 1 }],
      [
        { text: 'one', was: 1, is: 2 },
        { call: 'two', number: 2, last: 'begun' },
      ],
      [{ text: ['x', 'y'], was: 2, is: 3 }],
      [
        { text: 'pp', was: 3, is: 4 },
        { text: 'qq', was: 4, is: 5 },
      ],
      [{ call: 'n', number: 9, last: 'begun' }],
      [
        { text: 'k2', was: 5, is: 6 },
        { text: 'zz', was: 6, is: 7 },
      ],
      [{ end: 'mark', texts: 7, marks: 2 }],
    ],
  },
  {
    name: 'a member of the state is kept if only another one is made of it, over any number of members',
    stream: {
      state: { told: 0, before: 0, first: 0 },
      steps: [
        {
          name: 'move',
          set: '{ "told": $state.before, "before": $state.first, "first": $state.first + n }',
          emit: '{ "told": $state.told }',
        },
      ],
    },
    events: [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }],
    out: [[{ told: 0 }], [{ told: 0 }], [{ told: 1 }], [{ told: 3 }], []],
  },
  {
    name: "events of interleaved parts wait until the part before ends, in the order of the parts' first events",
    stream: {
      state: { open: null },
      hold: { when: '$state.open != null and $exists(of) and of != $state.open', part: 'of' },
      steps: [
        { name: 'begin', when: '$exists(of) and $state.open = null', set: '{ "open": of }' },
        { name: 'tell', emit: '{ "of": of, "n": n }' },
        { name: 'end', when: 'end', set: '{ "open": null }' },
      ],
    },
    events: [
      { of: 'a', n: 1 },
      { of: 'b', n: 2 },
      { of: 'c', n: 3 },
      { n: 4 },
      { of: 'b', n: 5 },
      { of: 'a', n: 6, end: true },
      { of: 'c', n: 7 },
      { of: 'b', n: 8, end: true },
      { of: 'd', n: 9 },
    ],
    out: [
      [{ of: 'a', n: 1 }],
      [],
      [],
      [{ n: 4 }],
      [],
      [
        { of: 'a', n: 6 },
        { of: 'b', n: 2 },
        { of: 'b', n: 5 },
      ],
      [],
      [
        { of: 'b', n: 8 },
        { of: 'c', n: 3 },
        { of: 'c', n: 7 },
      ],
      [],
      [{ of: 'd', n: 9 }],
    ],
  },
  {
    name: 'held events without a part keep their order, and an event that is taken apart is held in parts',
    stream: {
      state: { open: true },
      let: { isLast: 'n = 5' },
      hold: { apart: 'list ? [list]', when: '$state.open and held', part: 'of' },
      steps: [
        { name: 'tell', emit: '{ "n": n }' },
        { name: 'end', when: '$isLast', set: '{ "open": false }' },
      ],
    },
    events: [
      { list: [{ n: 1 }, { held: true, n: 2 }, { held: true, of: 'a', n: 3 }] },
      { held: true, n: 4 },
      { held: true, of: 'a', n: 7 },
      { n: 5 },
    ],
    out: [[{ n: 1 }], [], [], [{ n: 5 }, { n: 2 }, { n: 3 }, { n: 7 }, { n: 4 }], []],
  },
  {
    name: 'a step emits the state after its `set`, and $was is the state before it',
    stream: { state: { n: 0 }, steps: [{ name: 'count', set: '{ "n": $state.n + 1 }', emit: '{ "was": $was.n, "is": $state.n }' }] },
    events: [{}, {}],
    out: [[{ was: 0, is: 1 }], [{ was: 1, is: 2 }], []],
  },
  {
    name: 'a later step sees what an earlier one has set',
    stream: {
      state: { n: 0, m: 0 },
      steps: [
        { name: 'one', set: '{ "n": a }' },
        { name: 'two', when: '$state.n = 2', set: '{ "m": $state.n * 10 }', emit: '$state' },
      ],
    },
    events: [{ a: 1 }, { a: 2 }],
    out: [[], [{ n: 2, m: 20 }], []],
  },
  {
    name: 'all members of `set` are computed before any is assigned',
    stream: { state: { a: 1, b: 2 }, steps: [{ name: 'swap', set: '{ "a": $state.b, "b": $state.a }', emit: '$state' }] },
    events: [{}, {}],
    out: [[{ a: 2, b: 1 }], [{ a: 1, b: 2 }], []],
  },
  {
    name: 'a member that `set` leaves absent keeps its value',
    stream: { state: { a: 1 }, steps: [{ name: 'keep', set: '{ "a": x }', emit: '$state' }] },
    events: [{}, { x: 5 }, {}],
    out: [[{ a: 1 }], [{ a: 5 }], [{ a: 5 }], []],
  },
  {
    name: 'a state that a function sets is not assumed to have its first value',
    stream: {
      state: { stop: null, n: 0, list: [] },
      steps: [
        { name: 'mark', when: 'x', set: '$mark(x)' },
        { name: 'tell', emit: '{ "none": $state.stop = null, "n": $type($state.n), "list": $type($state.list) }' },
      ],
    },
    define: { mark: 'function($x) { { "stop": $x, "n": $x, "list": $x } }' },
    events: [{}, { x: 'end' }, {}],
    out: [
      [{ none: true, n: 'number', list: 'array' }],
      [{ none: false, n: 'string', list: 'string' }],
      [{ none: false, n: 'string', list: 'string' }],
      [],
    ],
  },
  {
    name: 'a state that is set by names in single quotes is not assumed to have its first value',
    stream: {
      state: { stop: null },
      steps: [{ name: 'tell', set: "{ 'stop': x }", emit: '{ "none": $state.stop = null, "type": $type($state.stop) }' }],
    },
    events: [{}, { x: 'end' }],
    out: [[{ none: true, type: 'null' }], [{ none: false, type: 'string' }], []],
  },
  {
    name: 'a state that is set by computed names is not assumed to have its first value',
    stream: { state: { stop: null }, steps: [{ name: 'tell', set: '{ "st" & "op": x }', emit: '{ "none": $state.stop = null }' }] },
    events: [{}, { x: 'end' }],
    out: [[{ none: true }], [{ none: false }], []],
  },
  {
    name: 'a state that is set to a part of an event is not assumed to have its first value',
    stream: { state: { stop: null }, steps: [{ name: 'tell', set: 'next', emit: '{ "none": $state.stop = null }' }] },
    events: [{ next: { stop: 1 } }, {}],
    out: [[{ none: false }], [{ none: false }], []],
  },
  {
    name: 'nothing, one event, a list of events, and lists from functions are emitted',
    stream: {
      steps: [
        { name: 'nothing', emit: 'missing' },
        { name: 'one', emit: '{ "a": 1 }' },
        { name: 'list', emit: '[{ "b": 1 }, { "b": 2 }]' },
        { name: 'empty', emit: '[]' },
        { name: 'function', emit: '[$pair(1), { "d": 1 }, $pair(0)]' },
        { name: 'condition', emit: 'x ? [{ "e": 1 }, { "e": 2 }]' },
        { name: 'mapped', emit: 'list.{ "f": $ }' },
      ],
    },
    define: { pair: 'function($x) { $x = 1 ? [{ "c": 1 }, { "c": 2 }] }' },
    events: [{ x: true, list: [1, 2] }, { list: [3] }],
    out: [
      [{ a: 1 }, { b: 1 }, { b: 2 }, { c: 1 }, { c: 2 }, { d: 1 }, { e: 1 }, { e: 2 }, { f: 1 }, { f: 2 }],
      [{ a: 1 }, { b: 1 }, { b: 2 }, { c: 1 }, { c: 2 }, { d: 1 }, { f: 3 }],
      [],
    ],
  },
  {
    name: 'events that functions put together, and lists of them, are emitted',
    stream: {
      state: { n: 0, id: 'i', list: [1] },
      steps: [
        {
          name: 'parts',
          set: '{ "n": $state.n + 1 }',
          emit: '$event_of("a", $was.n, $merge([$summary($state), { "text": x, "gone": missing }]))',
        },
        { name: 'two lists', emit: '$append($pair($state, x), [{ "type": "d", "n": $state.n }])' },
        { name: 'a list or one', emit: '$append($event_of("e", 0, {}), x ? [{ "f": x }])' },
        {
          name: 'a kind that is computed',
          emit: '$event_of(x = "q" ? "q" : $string($state.n), 0, { "deep": { "summary": $summary($state) } })',
        },
      ],
    },
    define: {
      event_of: 'function($type, $n, $members) { $merge([{ "type": $type, "n": $n }, $members]) }',
      summary: 'function($s) { { "id": $s.id, "at": $s.n, "list": $s.list } }',
      pair: 'function($s, $x) { [$x = "q" ? $event_of("q", 1, { "x": $x }) : $event_of("b", 1, $summary($s)), $event_of("c", 2, { "x": $x, "s": $s })] }',
    },
    events: [{ x: 'q' }, { x: '"' }, {}],
    out: [
      [
        { type: 'a', n: 0, id: 'i', at: 1, list: [1], text: 'q' },
        { type: 'q', n: 1, x: 'q' },
        { type: 'c', n: 2, x: 'q', s: { n: 1, id: 'i', list: [1] } },
        { type: 'd', n: 1 },
        { type: 'e', n: 0 },
        { f: 'q' },
        { type: 'q', n: 0, deep: { summary: { id: 'i', at: 1, list: [1] } } },
      ],
      [
        { type: 'a', n: 1, id: 'i', at: 2, list: [1], text: '"' },
        { type: 'b', n: 1, id: 'i', at: 2, list: [1] },
        { type: 'c', n: 2, x: '"', s: { n: 2, id: 'i', list: [1] } },
        { type: 'd', n: 2 },
        { type: 'e', n: 0 },
        { f: '"' },
        { type: '2', n: 0, deep: { summary: { id: 'i', at: 2, list: [1] } } },
      ],
      [
        { type: 'a', n: 2, id: 'i', at: 3, list: [1] },
        { type: 'b', n: 1, id: 'i', at: 3, list: [1] },
        { type: 'c', n: 2, s: { n: 3, id: 'i', list: [1] } },
        { type: 'd', n: 3 },
        { type: 'e', n: 0 },
        { type: '3', n: 0, deep: { summary: { id: 'i', at: 3, list: [1] } } },
      ],
      [],
    ],
  },
  {
    name: 'a value may be in several events, at any depth',
    stream: {
      steps: [
        { name: 'object', emit: '( $o := { "x": x, "y": [x] }; [{ "a": $o }, $of($o), $o, $merge([$o, { "b": $o }]), { "c": $o.y }] )' },
        { name: 'list', emit: '( $l := [x, 2]; [{ "a": $l, "in": [$l] }, { "n": $count($l) }, $of($l)] )' },
        { name: 'computed', emit: '( $m := $merge([{ "k": x }, rest]); [{ "a": $m }, { "b": $m }, { "c": [$m] }, $m] )' },
        { name: 'text', emit: '( $t := "<" & x & ">"; $u := $t & $t; [{ "a": $t, "u": $u }, { "b": $u }] )' },
      ],
    },
    define: { of: 'function($x) { { "of": $x } }' },
    events: [{ x: 'q"', rest: { k: 1, l: 2 } }, {}],
    out: [
      [
        { a: { x: 'q"', y: ['q"'] } },
        { of: { x: 'q"', y: ['q"'] } },
        { x: 'q"', y: ['q"'] },
        { x: 'q"', y: ['q"'], b: { x: 'q"', y: ['q"'] } },
        { c: ['q"'] },
        { a: ['q"', 2], in: ['q"', 2] },
        { n: 2 },
        { of: ['q"', 2] },
        { a: { k: 1, l: 2 } },
        { b: { k: 1, l: 2 } },
        { c: [{ k: 1, l: 2 }] },
        { k: 1, l: 2 },
        { a: '<q">', u: '<q"><q">' },
        { b: '<q"><q">' },
      ],
      [
        { a: { y: [] } },
        { of: { y: [] } },
        { y: [] },
        { y: [], b: { y: [] } },
        { c: [] },
        { a: [2], in: [2] },
        { n: 1 },
        { of: [2] },
        { a: {} },
        { b: {} },
        { c: [{}] },
        {},
        { a: '<>', u: '<><>' },
        { b: '<><>' },
      ],
      [],
    ],
  },
  {
    name: 'the steps of a loop run for each element in turn',
    stream: {
      state: { n: 0 },
      steps: [
        {
          for: 'calls',
          let: { id: '$item.id' },
          steps: [
            { name: 'begin', when: '$id', set: '{ "n": $state.n + 1 }', emit: '{ "begin": $id, "n": $state.n }' },
            { name: 'go on', emit: '{ "text": $item.text, "n": $state.n }' },
          ],
        },
      ],
    },
    events: [{ calls: [{ id: 'a', text: 'x' }, { text: 'y' }, { id: 'b' }] }, { calls: { id: 'c' } }, { calls: [] }, {}],
    out: [
      [{ begin: 'a', n: 1 }, { text: 'x', n: 1 }, { text: 'y', n: 1 }, { begin: 'b', n: 2 }, { n: 2 }],
      [{ begin: 'c', n: 3 }, { n: 3 }],
      [],
      [],
      [],
    ],
  },
  {
    name: 'loops may be nested, and may have a condition',
    stream: {
      steps: [
        {
          for: 'rows',
          when: 'go',
          steps: [{ for: '$item.cells', let: { cell: '$item' }, steps: [{ name: 'cell', when: '$cell > 1', emit: '{ "cell": $cell }' }] }],
        },
      ],
    },
    events: [{ go: true, rows: [{ cells: [1, 2] }, { cells: [3] }] }, { rows: [{ cells: [9] }] }],
    out: [[{ cell: 2 }, { cell: 3 }], [], []],
  },
  {
    name: 'steps run for kinds of events, and at the end',
    stream: {
      state: { text: '' },
      let: { piece: 'delta.text' },
      steps: [
        { name: 'text', on: ['delta'], set: '{ "text": $state.text & $piece }' },
        { name: 'both', on: ['delta', 'stop'], emit: '{ "kind": type }' },
        { name: 'any', when: 'type = "other"', emit: '{ "other": true }' },
        { name: 'end', on: 'done', emit: '[{ "all": $state.text, "piece": $exists($piece) }]' },
      ],
    },
    eventKind: 'type',
    events: [
      { type: 'delta', delta: { text: 'a' } },
      { type: 'other' },
      { type: 'delta', delta: { text: 'b' } },
      { type: 'stop' },
      { type: 'done' },
      {},
    ],
    out: [[{ kind: 'delta' }], [{ other: true }], [{ kind: 'delta' }], [{ kind: 'stop' }], [], [], [{ all: 'ab', piece: false }]],
  },
  {
    name: 'a condition is true if JSONata says so',
    stream: { steps: [{ name: 'true', when: 'x', emit: '{ "x": x }' }] },
    events: [{ x: 0 }, { x: '' }, { x: [] }, { x: {} }, { x: null }, { x: [0] }, { x: [0, 1] }, { x: 'a' }, { x: { a: 1 } }, { x: -1 }],
    out: [[], [], [], [], [], [], [{ x: [0, 1] }], [{ x: 'a' }], [{ x: { a: 1 } }], [{ x: -1 }], []],
  },
  {
    name: 'an event that contains the state has the state of that time',
    stream: {
      state: { n: 0, before: null },
      steps: [
        { name: 'one', set: '{ "n": $state.n + 1 }', emit: '{ "state": $state, "list": [$state], "was": $was }' },
        { name: 'two', emit: '{ "copy": $merge([$state, { "m": 1 }]), "was": $was.n }' },
        { name: 'three', when: 'keep', set: '{ "before": $state }' },
      ],
    },
    events: [{ keep: true }, {}],
    out: [
      [
        { state: { n: 1, before: null }, list: [{ n: 1, before: null }], was: { n: 0, before: null } },
        { copy: { n: 1, before: null, m: 1 }, was: 1 },
      ],
      [
        {
          state: { n: 2, before: { n: 1, before: null } },
          list: [{ n: 2, before: { n: 1, before: null } }],
          was: { n: 1, before: { n: 1, before: null } },
        },
        { copy: { n: 2, before: { n: 1, before: null }, m: 1 }, was: 2 },
      ],
      [],
    ],
  },
  {
    name: 'an emitted event is not changed by later steps',
    stream: {
      state: { list: [] },
      steps: [{ name: 'add', set: '{ "list": $append($state.list, x) }', emit: '{ "list": [$state.list] }' }],
    },
    events: [{ x: 1 }, { x: 2 }],
    out: [[{ list: [1] }], [{ list: [1, 2] }], []],
  },
]

describe('a reducer', () => {
  for (const { name, stream, define, eventKind, events, out } of REDUCERS) {
    test(name, async () => {
      const mapping = await both({ stream, ...(define && { define }) }, eventKind === undefined ? {} : { eventKind })
      const [compiled, interpreted] = play(mapping, events) as [unknown[], unknown[]]
      expect(compiled.slice(0, -1), 'compiled').toEqual(out)
      expect(interpreted.slice(0, -1), 'interpreted').toEqual(out)
      expect(compiled.at(-1), 'the state at the end').toEqual(interpreted.at(-1))
    })
  }

  test('fails if a step fails, and returns the events before', async () => {
    const stream = {
      state: { n: 0 },
      steps: [
        { name: 'count', set: '{ "n": $state.n + 1 }', emit: '{ "n": $state.n }' },
        {
          for: 'list',
          steps: [{ name: 'fail', when: '$item = 2', fail: '{ "kind": "upstream", "message": "two", "code": $string($item) }' }],
        },
        { name: 'tell', emit: '{ "is": "there" }' },
        { name: 'end', on: 'done', when: '$state.n > 1', fail: '{ "kind": "timeout" }' },
      ],
    }
    const { compiled, interpreted } = await both({ stream })
    const state = compiled.start?.() ?? {}
    const other = interpreted.start()
    const out: string[] = []
    expect(compiled.event?.(state, { list: [1] }, CONTEXT, undefined, out)).toBeUndefined()
    expect(compiled.event?.(state, { list: [1, 2, 3] }, CONTEXT, undefined, out)).toEqual({ kind: 'upstream', message: 'two', code: '2' })
    expect(compiled.done?.(state, CONTEXT, undefined, out)).toEqual({ kind: 'timeout' })
    expect(told(out)).toEqual([{ n: 1 }, { is: 'there' }, { n: 2 }])
    const mine = [
      interpreted.event(other, { list: [1] }, CONTEXT, undefined),
      interpreted.event(other, { list: [1, 2, 3] }, CONTEXT, undefined),
    ]
    expect(mine.flat()).toEqual(told(out))
    expect(interpreted.failed(other)).toEqual({ kind: 'upstream', message: 'two', code: '2' })
  })

  test('fails if it holds too much, and does not count released events', async () => {
    const stream = {
      state: { open: false },
      hold: { when: '$state.open and $exists(x)', part: 'of' },
      steps: [{ name: 'turn', set: '{ "open": open }' }],
    }
    const { compiled } = await both({ stream })
    const state = compiled.start?.() ?? {}
    const take = (event: unknown): unknown => compiled.event?.(state, event, CONTEXT, undefined, [])
    for (let round = 0; round < 20; round++) {
      take({ open: true })
      expect(take({ x: 'x'.repeat(1024 * 1024) })).toBeUndefined()
      take({ open: false })
    }
    take({ open: true })
    const given = Array.from({ length: 16 }, () => take({ x: 'x'.repeat(1024 * 1024) }))
    expect(given.slice(0, 15)).toEqual(Array(15).fill(undefined))
    expect(given[15]).toMatchObject({ kind: 'upstream' })
  })

  test('writes events as text, also if functions put them together', async () => {
    const { stream, define } = REDUCERS.find(({ name }) => name.startsWith('events that functions')) as Reduced
    const { text } = await both({ stream, ...(define && { define }) })
    expect(text.slice(text.indexOf('export function event'))).not.toMatch(/pushEvents|merge|JSON\.parse/)
  })

  test('starts each stream with a fresh state', async () => {
    const mapping = await both({
      stream: { state: { list: [], deep: { n: 1 } }, steps: [{ name: 'x', set: '{ "list": $append($state.list, 1) }' }] },
    })
    const first = play(mapping, [{}, {}])
    expect(play(mapping, [{}, {}])).toEqual(first)
    expect(mapping.compiled.start?.()).not.toBe(mapping.compiled.start?.())
  })
})

interface Known {
  name: string
  schema: Schema
  request: string
  /** Requests that the schema accepts. */
  inputs: unknown[]
}

/** What a schema lets the compiler leave out must not change what comes out. */
const KNOWN: Known[] = [
  {
    name: 'branches that name a member differently',
    schema: {
      type: 'object',
      properties: {
        a: {
          anyOf: [
            { type: 'object', properties: { kind: { const: 'one' } } },
            { type: 'object', properties: { kind: { const: 'two' } } },
          ],
        },
      },
    },
    request: '{ "one": a.kind = "one", "two": a.kind = "two", "in": a.kind in ["two", "three"] }',
    inputs: [{ a: { kind: 'one' } }, { a: { kind: 'two' } }, { a: {} }, {}],
  },
  {
    name: 'branches that give a member different types',
    schema: {
      type: 'object',
      properties: {
        a: {
          oneOf: [
            { type: 'object', properties: { v: { type: 'string' } } },
            { type: 'object', properties: { v: { type: 'array', items: { type: 'number' } } } },
          ],
        },
      },
    },
    request: '{ "v": a.v, "first": a.v[0], "count": $count(a.v), "type": $type(a.v) }',
    inputs: [{ a: { v: 'x' } }, { a: { v: [1, 2] } }, { a: { v: [1] } }, { a: { v: [] } }, { a: {} }],
  },
  {
    name: 'a closed union, an open one, and one with a default',
    schema: {
      type: 'object',
      properties: {
        closed: {
          union: {
            by: 'type',
            of: {
              text: { properties: { text: { type: 'string' } }, required: ['text'] },
              list: { properties: { text: { type: 'array', items: { type: 'string' } } } },
            },
          },
        },
        open: { union: { by: 'type', of: { text: { properties: { text: { type: 'string' } } } }, other: 'open' } },
        plain: { union: { by: 'type', of: { text: { properties: { text: { type: 'string' } } } }, default: 'text' } },
      },
    },
    request:
      '{ "closed": closed.type = "text" ? closed.text & "!" : closed.text[0], "open": open.type = "text" ? open.text : $type(open.text), "plain": plain.type, "text": plain.text }',
    inputs: [
      { closed: { type: 'text', text: 'a' }, open: { type: 'text', text: 'b' }, plain: { text: 'c' } },
      { closed: { type: 'list', text: ['a', 'b'] }, open: { type: 'other', text: 5 }, plain: { type: 'text' } },
      { closed: { type: 'list' }, open: { type: 'other' } },
      {},
    ],
  },
  {
    name: 'a list of one kind, a nullable member, a member that is required',
    schema: {
      type: 'object',
      required: ['list'],
      properties: {
        list: {
          type: 'array',
          items: { type: 'object', properties: { n: { type: ['integer', 'null'] }, s: { type: 'string' } }, required: ['s'] },
        },
        maybe: { type: ['string', 'null'] },
      },
    },
    request:
      '{ "s": [list.s], "n": list.n, "sum": $sum(list[$type(n) = "number"].n), "maybe": maybe ? maybe : "none", "null": maybe = null, "map": [list.{ "s": s & "!", "n": n }] }',
    inputs: [
      { list: [] },
      { list: [{ s: 'a' }], maybe: null },
      {
        list: [
          { s: 'a', n: 1 },
          { s: 'b', n: null },
          { s: 'c', n: 3 },
        ],
        maybe: 'x',
      },
      { list: [{ s: '' }], maybe: '' },
    ],
  },
  {
    name: 'a schema that refers to itself',
    schema: {
      type: 'object',
      properties: { tree: { $ref: '#/$defs/node' } },
      $defs: {
        node: { type: 'object', properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } } },
      },
    },
    request: '{ "names": [tree.**.name], "second": tree.children.children.name, "count": $count(tree.children) }',
    inputs: [
      { tree: { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }, { name: 'd' }] }, { children: [] }] } },
      { tree: {} },
      {},
    ],
  },
  {
    name: 'members of an object by any name',
    schema: {
      type: 'object',
      properties: { map: { type: 'object', properties: { x: { type: 'string' } }, additionalProperties: { type: 'number' } } },
    },
    request: '{ "keys": [$keys(map)], "x": map.x & "", "y": map.y + 1, "each": [$each(map, function($v, $k) { $k & $string($v) })] }',
    inputs: [{ map: {} }, { map: { x: 'a', y: 1, z: 2 } }, { map: { y: 0 } }, {}],
  },
  {
    name: 'branches whose members have members of any name',
    schema: {
      type: 'object',
      properties: {
        x: {
          anyOf: [
            { type: 'object', properties: { m: { type: 'object', additionalProperties: { type: 'number' } } } },
            { type: 'object', properties: { m: { type: 'object', additionalProperties: { type: ['string', 'object', 'array'] } } } },
          ],
        },
      },
    },
    request:
      '{ "type": $type(x.m.k), "is": x.m.k = "a", "text": $string(x.m.k), "true": x.m.k ? 1 : 0, "inner": x.m.k.z, "count": $count(x.m.k) }',
    inputs: [
      { x: { m: { k: 1 } } },
      { x: { m: { k: 'a' } } },
      { x: { m: { k: { z: 'z' } } } },
      { x: { m: { k: [{ z: 1 }, { z: 2 }] } } },
      { x: {} },
      {},
    ],
  },
  {
    name: 'several schemas at once',
    schema: {
      type: 'object',
      allOf: [{ properties: { a: { type: 'string' } } }, { required: ['a'] }, { properties: { b: { enum: ['x', 'y', null] } } }],
    },
    request: '{ "a": a & "", "b": b, "isx": b = "x", "null": b = null }',
    inputs: [{ a: 'q' }, { a: '', b: 'x' }, { a: 'r', b: null }],
  },
  {
    name: 'a member that every branch has and some require',
    schema: {
      type: 'object',
      properties: {
        a: {
          anyOf: [
            { type: 'object', properties: { v: { type: 'string' } }, required: ['v'] },
            { type: 'object', properties: { v: { type: 'string' } } },
            { type: 'string' },
          ],
        },
      },
    },
    request: '{ "v": $exists(a.v) ? a.v : "none", "type": $type(a) }',
    inputs: [{ a: { v: 'x' } }, { a: {} }, { a: 'text' }, {}],
  },
]

describe('a mapping gives what the interpreter gives, with a schema of', () => {
  for (const { name, schema, request, inputs } of KNOWN) {
    test(name, async () => {
      const { compiled, interpreted } = await both({ request }, { schema })
      const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
      for (const input of inputs) {
        const mine = wire(compiled.request?.(input as Record<string, unknown>, CONTEXT, undefined))
        expect(mine, JSON.stringify(input)).toEqual(wire(interpreted.request(input, CONTEXT, undefined)))
      }
    })
  }
})

describe('unmapped fields', () => {
  const fields = {
    dropped: {
      top: 'a',
      'list[].deep.x': 'b',
      'rows[][].y': 'c',
      'items[]': 'h',
      'group.inner.x': 'i',
      'group.inner': { when: 'group.inner.y = 1', why: 'j' },
      group: { when: 'group.z = 1', why: 'k' },
      'group.list[].x': 'l',
      'odd-$name': 'd',
      when: { when: 'when > 1', why: 'e' },
      constructor: 'f',
    },
    refused: { n: { when: 'n > 1', why: 'only one' }, 'list[].no': 'never', model: { when: '$ctx.model = "other"', why: 'g' } },
  }
  const INPUTS: [input: Record<string, unknown>, dropped: string[], refused: string | undefined][] = [
    [{}, [], undefined],
    [{ top: 1, n: 1 }, ['top'], undefined],
    [{ top: null, n: 2 }, [], 'n'],
    [{ top: false, 'odd-$name': 0, when: 2 }, ['top', 'odd-$name', 'when'], undefined],
    [{ list: [{}, { deep: { x: 1 } }], rows: [[{}], [{ y: 0 }]] }, ['list[].deep.x', 'rows[][].y'], undefined],
    [{ list: { deep: { x: 1 }, no: 1 }, rows: [{ y: 1 }] }, [], undefined],
    [{ list: [{ deep: [{ x: 1 }] }, { no: false }] }, [], 'list[].no'],
    // What is empty says nothing, except as an item of a list.
    [{ top: '', list: [{ no: '' }, { no: {} }, { no: [] }] }, [], undefined],
    [{ top: {}, items: [{}] }, ['items[]'], undefined],
    // An object that is reported is reported with its members.
    [{ group: { inner: { x: 1 }, list: [{ x: 1 }] } }, ['group.inner.x', 'group.list[].x'], undefined],
    [{ group: { inner: { x: 1, y: 1 } } }, ['group.inner'], undefined],
    [{ group: { inner: { x: 1 }, list: [{ x: 1 }], z: 1 } }, ['group'], undefined],
    [{ list: [null, 1, 'x', { no: null }] }, [], undefined],
  ]
  test('are reported if the request has them', async () => {
    const { compiled, interpreted } = await both({ fields })
    for (const [input, dropped, refused] of INPUTS) {
      expect(compiled.dropped?.(input, CONTEXT), JSON.stringify(input)).toEqual(dropped)
      expect(compiled.refused?.(input, CONTEXT)?.param, JSON.stringify(input)).toBe(refused)
      expect(interpreted.dropped(input, CONTEXT)).toEqual(dropped)
      expect(interpreted.refused(input, CONTEXT)?.param).toBe(refused)
    }
  })
})
