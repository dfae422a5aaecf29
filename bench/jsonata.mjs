/**
 * Compares compiled JSONata with the interpreter and with code written by hand, on the same inputs with equal results, as
 * ratios in one run: CPU of this process, rounds in turns, medians. `npm run bench:jsonata`.
 */
import { isDeepStrictEqual } from 'node:util'
import jsonata from 'jsonata'
import { shapeOfValue } from '../dist/codegen/compile/mapping.js'
import { objectInput } from '../dist/codegen/compile/module.js'
import { compileExpression } from '../dist/codegen/jsonata/compile.js'
import { Unit } from '../dist/codegen/jsonata/unit.js'
import { readProject } from '../dist/codegen/read/project.js'
import { schemaId, shapeOf } from '../dist/codegen/read/schemas.js'
import * as calls from '../dist/engine/jsonata/calls.js'
import * as functions from '../dist/engine/jsonata/functions.js'
import * as json from '../dist/engine/jsonata/json.js'
import * as operators from '../dist/engine/jsonata/operators.js'
import * as paths from '../dist/engine/jsonata/paths.js'
import * as sequence from '../dist/engine/jsonata/sequence.js'
import * as signature from '../dist/engine/jsonata/signature.js'
import * as chatToMessages from '../generated/mappings/chat-to-messages.js'
import * as messagesToChat from '../generated/mappings/messages-to-chat.js'
import * as hand from './jsonata/by-hand.mjs'
import { plain, reducers } from './jsonata/expressions.mjs'
import { answer, chatChunks, chatRequest, messagesEvents } from './jsonata/inputs.mjs'
import { measure } from './jsonata/measure.mjs'
import { median, ratios } from './stats.mjs'

const { schemas } = readProject(['.'])
const shapes = new Map()
const modules = { calls, functions, json, operators, paths, sequence, signature }

/** The schema's knowledge of a subject's input. */
function shapeFor({ schema, start }) {
  const id = schemaId(...schema.split('/'))
  if (!shapes.has(id)) shapes.set(id, shapeOf(schemas, id))
  const event = shapes.get(id)
  if (!start) return event
  const members = [
    ['event', event],
    ['state', shapeOfValue(start)],
  ]
  return { members: new Map(members) }
}

/** The text of a function as codegen would print it: the input is an object, with an unknown or a known schema. */
function textOf(subject, isTyped) {
  const unit = new Unit()
  for (const name of ['input', 'modules']) unit.name(name)
  const root = objectInput('input', isTyped ? shapeFor(subject) : undefined)
  const { lines, result } = compileExpression(subject.expression, unit, root, { isSerialised: true })
  const printed = []
  lines.print(1, printed)
  return unit.printInline([{ text: 'return input => {' }, ...printed, { text: `  return ${result.code}` }, { text: '}' }])
}

const made = (subject, isTyped) => new Function('modules', `'use strict'\n${textOf(subject, isTyped)}`)(modules)
const generic = subject => made(subject, false)
const typed = subject => made(subject, true)

/** A whole stream from lines to lines. Printed for each contender separately, so that each has its own loop. */
const anew = maker => new Function(`return ${maker}`)()
const stepped = run =>
  anew((reduce, start) => lines => {
    const frames = []
    let state = start
    for (let index = 0; index < lines.length; index++) {
      const result = reduce({ event: JSON.parse(lines[index]), state })
      state = result.state
      for (const event of result.events) frames.push(`data: ${JSON.stringify(event)}\n\n`)
    }
    return frames
  })(run.reduce, run.start)
const steppedSlowly = (expression, start) => async lines => {
  const frames = []
  let state = start
  for (const line of lines) {
    const result = await expression.evaluate({ event: JSON.parse(line), state })
    state = result.state
    for (const event of result.events) frames.push(`data: ${JSON.stringify(event)}\n\n`)
  }
  return frames
}
const streamed = (mapping, carry) =>
  anew((reducer, ctx, carried) => lines => {
    const frames = []
    const state = reducer.start()
    const out = []
    for (let index = 0; index <= lines.length; index++) {
      if (index < lines.length) reducer.event(state, JSON.parse(lines[index]), ctx, carried, out)
      else reducer.done(state, ctx, carried, out)
      for (let at = 0; at < out.length; at += 2) frames.push(`data: ${out[at + 1]}\n\n`)
      out.length = 0
    }
    return frames
  })(mapping, ctx, carry)

const ctx = {
  model: 'm',
  requested: 'm',
  provider: 'sim',
  stream: true,
  max_output: 8192,
  id: '000000000000000000000001',
  created: 1700000000,
  tag: 'sluice.sim.',
  traits: {},
}
const chatCarry = { usage: true, legacy: false, cites: false }
const messagesCarry = { names: [] }
const linesOf = events => events.map(event => JSON.stringify(event))

// Targets: the minimum ratio of the interpreter's time to the compiled code's, and the maximum of the compiled code's to the hand-written code's.
const FASTER = { request: 75, chunk: 300 }

const subjects = []
for (const subject of plain) {
  const interpreter = jsonata(subject.expression)
  subjects.push({
    name: subject.name,
    input: subject.input,
    contenders: {
      hand: { run: subject.byHand },
      generic: { run: generic(subject) },
      typed: { run: typed(subject) },
      interpreted: { run: input => interpreter.evaluate(input), isAsync: true },
    },
    goals: { faster: FASTER[subject.kind], generic: 3, typed: subject.kind === 'chunk' ? 2.2 : 1.6 },
  })
}
for (const [name, reducer] of Object.entries({
  'messages stream, 88 events': reducers.toChat,
  'chat stream, 88 chunks': reducers.toMessages,
})) {
  const { start } = reducer
  subjects.push({
    name,
    input: linesOf(reducer.events),
    contenders: {
      hand: { run: stepped({ reduce: reducer.byHand, start }) },
      generic: { run: stepped({ reduce: generic(reducer), start }) },
      typed: { run: stepped({ reduce: typed(reducer), start }) },
      interpreted: { run: steppedSlowly(jsonata(reducer.expression), start), isAsync: true },
    },
    goals: { typed: 1.1 },
  })
}

/** One event in the middle of a stream: the state no longer changes, and is like that of a stream. */
function reduceOne(reducer, carry, before) {
  const state = reducer.start()
  for (const event of before) reducer.event(state, event, ctx, carry, [])
  return anew((mapping, held, context, carried) => {
    return event => {
      const out = []
      mapping.event(held, event, context, carried, out)
      return out
    }
  })(reducer, state, ctx, carry)
}
const reduceFirst = (reducer, carry) =>
  anew((mapping, context, carried) => event => {
    const out = []
    mapping.event(mapping.start(), event, context, carried, out)
    return out
  })(reducer, ctx, carry)

const real = (name, input, ours, written, goal) =>
  subjects.push({
    name: `mapping: ${name}`,
    input,
    contenders: { hand: { run: written }, typed: { run: ours } },
    goals: goal ? { typed: goal } : {},
  })

const toRequest = input => chatToMessages.request(input, ctx, chatToMessages.carry(input, ctx))
const toRequestByHand = input => hand.toMessagesRequest(input, ctx)
// The code written by hand here supports only this input, and not the rest of a mapping: no targets.
real('request, 1 KB', chatRequest(3, 250), toRequest, toRequestByHand)
real('request, 200 messages', chatRequest(200, 450), toRequest, toRequestByHand)
real(
  'response',
  answer,
  input => chatToMessages.response(input, ctx, chatCarry),
  input => hand.toChatResponse(input, ctx),
)
const [c2m, m2c] = [chatToMessages, messagesToChat]
const midst = [messagesEvents.slice(0, 5), chatChunks.slice(0, 5)]
real('messages event, text', messagesEvents[5], reduceOne(c2m, chatCarry, midst[0]), reduceOne(hand.toChat, chatCarry, midst[0]), 2.2)
real('chat chunk, text', chatChunks[5], reduceOne(m2c, messagesCarry, midst[1]), reduceOne(hand.toMessages, messagesCarry, midst[1]), 2.2)
real('chat chunk, first', chatChunks[1], reduceFirst(m2c, messagesCarry), reduceFirst(hand.toMessages, messagesCarry), 2.2)
real('messages stream, 88 events', linesOf(messagesEvents), streamed(c2m, chatCarry), streamed(hand.toChat, chatCarry), 1.1)
real('chat stream, 88 chunks', linesOf(chatChunks), streamed(m2c, messagesCarry), streamed(hand.toMessages, messagesCarry), 1.1)

if (process.argv.includes('--code')) {
  for (const { name, ...subject } of plain) console.log(`// ${name}\n${textOf(subject, !process.argv.includes('--generic'))}\n`)
  process.exit()
}

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : ''
/** The client's view; frames are compared by content, whatever the order of members. */
const asJson = value =>
  JSON.parse(JSON.stringify(value), (_, item) => (typeof item === 'string' && item.startsWith('data: ') ? JSON.parse(item.slice(6)) : item))
const rows = []
let missed = 0
for (const { name, input, contenders, goals } of subjects.filter(subject => subject.name.includes(only))) {
  const fresh = () => JSON.parse(JSON.stringify(input))
  const wanted = asJson(contenders.hand.run(fresh()))
  for (const [key, { run }] of Object.entries(contenders)) {
    const result = asJson(await run(fresh()))
    if (!isDeepStrictEqual(result, wanted))
      throw new Error(`${name}: ${key} gives ${JSON.stringify(result)}, by hand it is ${JSON.stringify(wanted)}`)
  }
  const times = await measure(contenders, input)
  const cell = (over, under, goal, isFloor = false) => {
    if (!times[over] || !times[under]) return ''
    const { median: ratio, min, max } = ratios(times[over], times[under])
    const digits = isFloor ? 0 : 2
    const text = `${ratio.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`
    if (goal === undefined) return text
    const isMet = isFloor ? ratio >= goal : ratio <= goal
    if (!isMet) missed++
    return `${text} ${isMet ? 'met' : 'MISSED'} ${isFloor ? '>=' : '<='} ${goal}`
  }
  rows.push({
    subject: name,
    'by hand, us': median(times.hand).toFixed(3),
    'interpreted / generic': cell('interpreted', 'generic', goals.faster, true),
    'generic / by hand': cell('generic', 'hand', goals.generic),
    'typed / by hand': cell('typed', 'hand', goals.typed),
  })
}

const columns = Object.keys(rows[0] ?? {})
const widths = columns.map(column => Math.max(column.length, ...rows.map(row => row[column].length)))
const line = cells => `| ${cells.map((cell, index) => cell.padEnd(widths[index])).join(' | ')} |`
console.log(line(columns))
console.log(line(widths.map(width => '-'.repeat(width))))
for (const row of rows) console.log(line(columns.map(column => row[column])))
console.log('\nRatios of CPU time, medians of rounds taken in turns (least-most). Mappings are the output of codegen:')
console.log('a request is typed, since it was checked; an answer of a provider is not.')
console.log(missed === 0 ? 'Every target is met.' : `${missed} targets are missed.`)
