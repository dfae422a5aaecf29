// Prints values of the plan as JavaScript: JSON as literals, and functions as code.

import { indented, type Js, joined, js, json, jsonKey } from '../jsonata/js.js'

/** Code within JSON. */
export class Code {
  /** `reads`: the local name of the import that it reads. `key`: its text in a hash, if that differs. */
  constructor(
    readonly text: Js,
    readonly reads?: Js,
    readonly key: Js = text,
  ) {}
}

/** A type of the engine in printed form: functions are Code, everything else stays. */
export type Printed<Value> =
  | Code
  | (Value extends (...given: never[]) => unknown
      ? never
      : Value extends readonly (infer Item)[]
        ? readonly Printed<Item>[]
        : Value extends object
          ? { readonly [Name in keyof Value]: Printed<Value[Name]> | OrNothing<Value, Name> }
          : Value)

/** An optional member may be given as undefined. */
type OrNothing<Value, Name extends keyof Value> = object extends Pick<Value, Name> ? undefined : never

/** A value as an expression, each member on its own lines. `textOf` prints Code. */
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
