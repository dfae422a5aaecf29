// Values of the plan as JavaScript: JSON as literals, and where the engine wants a function, code that gives it.

import { indented, type Js, joined, js, json, jsonKey } from '../jsonata/js.js'

/** Code among JSON. */
export class Code {
  /** `reads`: the local name of the import that it reads. `key`: what stands for it in a hash, where that differs. */
  constructor(
    readonly text: Js,
    readonly reads?: Js,
    readonly key: Js = text,
  ) {}
}

/** What the engine reads, as it is printed: functions as code, all else as it is. */
export type Printed<Value> =
  | Code
  | (Value extends (...given: never[]) => unknown
      ? never
      : Value extends readonly (infer Item)[]
        ? readonly Printed<Item>[]
        : Value extends object
          ? { readonly [Name in keyof Value]: Printed<Value[Name]> | OrNothing<Value, Name> }
          : Value)

/** A member that may be absent may be printed from nothing. */
type OrNothing<Value, Name extends keyof Value> = object extends Pick<Value, Name> ? undefined : never

/** A value as an expression, on lines of its own for each member. `textOf`: what is printed for code. */
export function print(value: unknown, textOf: (code: Code) => Js, depth = 0): Js {
  if (value instanceof Code) return textOf(value)
  if (typeof value !== 'object' || value === null) return json(value)
  if (Array.isArray(value))
    return js`[${joined(
      value.map(item => print(item, textOf, depth + 1)),
      ', ',
    )}]`
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  if (members.length === 0) return js`{}`
  const lines = members.map(([key, item]) => indented(depth + 1, js`${jsonKey(key)}: ${print(item, textOf, depth + 1)},`))
  return js`{\n${joined(lines, '\n')}\n${indented(depth, js`}`)}`
}
