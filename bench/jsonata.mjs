/**
 * Compiled JSONata beside the interpreter and code written by hand, on the same inputs with equal results, as ratios in
 * one run: CPU of this process, rounds taken in turns, medians. `npm run bench:jsonata`.
 */
import { isDeepStrictEqual } from 'node:util'
import jsonata from 'jsonata'
import { compileExpression } from '../dist/codegen/jsonata/compile.js'
import { load } from '../dist/codegen/jsonata/load.js'
import { Unit } from '../dist/codegen/jsonata/unit.js'
import { readProject } from '../dist/codegen/project.js'
import { schemaId, shapeOf } from '../dist/codegen/schemas.js'
import * as calls from '../dist/engine/jsonata/calls.js'
import * as functions from '../dist/engine/jsonata/functions.js'
import * as operators from '../dist/engine/jsonata/operators.js'
import * as paths from '../dist/engine/jsonata/paths.js'
import * as sequence from '../dist/engine/jsonata/sequence.js'
import * as signature from '../dist/engine/jsonata/signature.js'

const { schemas } = readProject(['.'])

/** The same expression, compiled with what a schema says of its input. */
function typed(source, shape) {
  const unit = new Unit()
  for (const name of ['input', 'modules']) unit.name(name)
  const root = { code: 'input', bits: 64, stable: true, clean: true, shape: { ...shape, bits: 64 } }
  const { lines, result } = compileExpression(source, unit, root, { isSerialised: true })
  const printed = []
  lines.print(1, printed)
  const body = unit.printInline([{ text: 'return input => {' }, ...printed, { text: `  return ${result.code}` }, { text: '}' }])
  return new Function('modules', body)({ calls, functions, operators, paths, sequence, signature })
}

const request = `{
  "model": model,
  "max_tokens": max_completion_tokens ? max_completion_tokens : 4096,
  "system": [$map($filter(messages, function($m) { $m.role = "system" }), function($m) { { "type": "text", "text": $m.content } })],
  "messages": [$map($filter(messages, function($m) { $m.role != "system" }), function($m) { { "role": $m.role, "content": [{ "type": "text", "text": $m.content }] } })],
  "temperature": temperature
}`
const byHand = input => {
  const system = []
  const messages = []
  for (const { role, content } of input.messages) {
    if (role === 'system') system.push({ type: 'text', text: content })
    else messages.push({ role, content: [{ type: 'text', text: content }] })
  }
  return {
    model: input.model,
    max_tokens: input.max_completion_tokens ? input.max_completion_tokens : 4096,
    system,
    messages,
    temperature: input.temperature,
  }
}
const conversation = (turns, length) => ({
  model: 'm',
  temperature: 1,
  messages: [
    { role: 'system', content: 'Be brief.' },
    ...Array.from({ length: turns }, (_, index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'x'.repeat(length) })),
  ],
})
const answer = {
  id: 'msg_1',
  model: 'm',
  stop_reason: 'end_turn',
  content: [{ type: 'text', text: 'Hello '.repeat(150) }],
  usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 20 },
}
const subjects = [
  { name: 'request of 1 KB', expression: request, byHand, input: conversation(2, 400), shape: 'chat/request', goal: 75 },
  { name: 'request of 200 messages', expression: request, byHand, input: conversation(200, 500), shape: 'chat/request', goal: 75 },
  {
    name: 'response of 1 KB',
    expression: `{
      "id": id, "object": "chat.completion", "model": model,
      "choices": [{ "index": 0, "message": { "role": "assistant", "content": $join($map($filter(content, function($b) { $b.type = "text" }), function($b) { $b.text })) },
        "finish_reason": stop_reason = "max_tokens" ? "length" : "stop" }],
      "usage": { "prompt_tokens": usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens, "completion_tokens": usage.output_tokens }
    }`,
    byHand: ({ id, model, content, stop_reason, usage }) => {
      let text = ''
      for (const block of content) if (block.type === 'text') text += block.text
      return {
        id,
        object: 'chat.completion',
        model,
        choices: [
          { index: 0, message: { role: 'assistant', content: text }, finish_reason: stop_reason === 'max_tokens' ? 'length' : 'stop' },
        ],
        usage: {
          prompt_tokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
          completion_tokens: usage.output_tokens,
        },
      }
    },
    input: answer,
    shape: 'messages/response',
    goal: 75,
  },
  {
    name: 'stream chunk',
    expression:
      'type = "content_block_delta" and delta.type = "text_delta" ? { "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": { "content": delta.text }, "finish_reason": null }] }',
    byHand: ({ type, delta }) =>
      type === 'content_block_delta' && delta.type === 'text_delta'
        ? { object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: delta.text }, finish_reason: null }] }
        : undefined,
    input: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    shape: 'messages/event',
    goal: 300,
  },
]

const median = list => list.toSorted((left, right) => left - right)[Math.floor(list.length / 2)]
let sink = 0

/** CPU microseconds of one evaluation, from a round of about `time` milliseconds. */
async function round(run, input, time, isAsync) {
  const began = process.cpuUsage()
  const until = performance.now() + time
  let count = 0
  while (performance.now() < until) {
    for (let index = 0; index < (isAsync ? 5 : 200); index++) {
      const result = isAsync ? await run(input) : run(input)
      sink += result === undefined ? 0 : 1
      count++
    }
  }
  const { user, system } = process.cpuUsage(began)
  return (user + system) / count
}

const rows = []
for (const { name, expression, byHand: hand, input, shape, goal } of subjects) {
  const interpreter = jsonata(expression)
  const [dialect, part] = shape.split('/')
  const runs = {
    hand: [hand, false],
    generic: [load(expression), false],
    typed: [typed(expression, shapeOf(schemas, schemaId(dialect, part))), false],
    interpreted: [value => interpreter.evaluate(value), true],
  }
  const plain = value => JSON.parse(JSON.stringify(value))
  for (const [run, isAsync] of Object.values(runs)) {
    const result = isAsync ? await run(input) : run(input)
    if (!isDeepStrictEqual(plain(result), plain(hand(input)))) throw new Error(`${name}: the results differ`)
  }
  const times = Object.fromEntries(Object.keys(runs).map(key => [key, []]))
  for (let turn = 0; turn < 5; turn++) {
    for (const [key, [run, isAsync]] of Object.entries(runs)) {
      const time = await round(run, input, 150, isAsync)
      if (turn > 0) times[key].push(time)
    }
  }
  const of = key => median(times[key])
  rows.push({
    subject: name,
    'interpreted / generic': (of('interpreted') / of('generic')).toFixed(0),
    goal: `>= ${goal}`,
    'generic / hand (<= 3)': (of('generic') / of('hand')).toFixed(2),
    'typed / hand (<= 1.6)': (of('typed') / of('hand')).toFixed(2),
  })
}
console.table(rows)
if (sink === 0) process.exitCode = 1
