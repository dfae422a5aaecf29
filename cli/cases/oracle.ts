// The interpreter as a test oracle: jsonata's own source, made synchronous, without the faults that we do not reproduce.
//
// Without async and await it takes half the time, and array and object constructors evaluate in order; under Promise.all
// chance decides which of two errors is reported.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

interface Expression {
  evaluate: (input: unknown, bindings?: Record<string, unknown>) => unknown
  assign: (name: string | symbol, value: unknown) => void
}

type Interpreter = (source: string, options?: { recover?: boolean }) => Expression

/** The expression needs more steps than allowed: it may never end. */
export class OutOfFuel extends Error {}

const PATCHES: [pattern: RegExp | string, replacement: string, why: string][] = [
  [/\basync (function|\()/g, '$1', 'synchronous'],
  [/\bawait /g, '', 'synchronous'],
  [/Promise\.all\(/g, '(', 'synchronous'],
  ['JSON.parse(JSON.stringify(left))', 'cloneNode(left)', 'a clone through JSON turns a regex into {} and a signature into text'],
  [
    'return tupleStream;',
    'return Object.assign(Object.create(null), tupleStream);',
    'grouping deletes the context from a lone tuple, so that the next pair has none',
  ],
  [
    /function (formatNumber|formatInteger|fromMillis)\((\w+)([^)]*)\) \{/g,
    "$& if (typeof $2 === 'number' && !Number.isFinite($2)) throw { code: 'D1001' };",
    'loops for ever over a number that is none',
  ],
  [
    'if( input && input.tupleStream) {',
    'if (input === undefined) return results;\n$&',
    'a filter over nothing evaluates its predicate all the same',
  ],
  [/\bresults\.push\(item\);/g, 'if (item !== undefined) results.push(item);', 'a filter gives arrays of undefined'],
  ['input.push(undefined);', 'input = [undefined];', 'grouping puts a member into an empty array of the input'],
  ["typeof arg === 'object' && !isLambda(arg)", "typeof arg === 'object' && !isFunction(arg)", 'a built-in is spread as an object'],
  ["updateType !== 'object' || update", "updateType !== 'object' || isFunction(update) || update", 'a function is merged as an object'],
  ['match[prop] = update[prop];', 'setKey(match, prop, update[prop]);', 'a transform with the key __proto__ changes the prototype'],
  [/(\w+)\.(sequence|keepSingleton|tupleStream|outerWrapper) = true/g, "setFlag($1, '$2')", '* over a sequence would list its flags'],
]

const HELPERS = `
function cloneNode(node) {
  if (Array.isArray(node)) return node.map(cloneNode);
  if (typeof node !== 'object' || node === null || node instanceof RegExp) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, cloneNode(value)]));
}
function setKey(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable: true });
}
function setFlag(array, name) {
  Object.defineProperty(array, name, { value: true, writable: true, configurable: true, enumerable: false });
}
`

function interpreter(): Interpreter {
  let text = readFileSync(createRequire(import.meta.url).resolve('jsonata/jsonata.js'), 'utf8')
  for (const [pattern, replacement, why] of PATCHES) {
    const patched = text.replaceAll(pattern, replacement)
    if (patched === text) throw new Error(`this version of jsonata lacks the text to patch: ${why}`)
    text = patched
  }
  const module = { exports: {} }
  new Function('module', 'exports', HELPERS + text)(module, module.exports)
  return module.exports as Interpreter
}

const parse = interpreter()
const ENTRY = Symbol.for('jsonata.__evaluate_entry')

/**
 * An expression evaluated by the interpreter. Throws OutOfFuel after `fuel` steps. `always`: variables of every evaluation, which
 * its own bindings override.
 */
export function oracle(
  source: string,
  fuel = Infinity,
  always: Readonly<Record<string, unknown>> = {},
): (input: unknown, bindings?: Record<string, unknown>) => unknown {
  const expression = parse(source)
  for (const [name, value] of Object.entries(always)) expression.assign(name, value)
  let left = 0
  if (fuel < Infinity) {
    expression.assign(ENTRY, () => {
      if (left-- <= 0) throw new OutOfFuel()
    })
  }
  return (input, bindings) => {
    left = fuel
    return expression.evaluate(input, bindings)
  }
}
