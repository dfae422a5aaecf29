// JavaScript text as a type of its own, after ajv's `_Code`: only this file makes it, so that a string from data can never
// become code. Data enters it as a JSON literal, as a generated name, or as a property access.

declare const brand: unique symbol

/** JavaScript text; only the functions of this file make it. */
export type Js = string & { readonly [brand]: 'js' }

/** A template of code with other code and numbers in it. */
export function js(texts: TemplateStringsArray, ...holes: readonly (Js | number)[]): Js {
  return texts.reduce((text, next, index) => text + String(holes[index - 1]) + next) as Js
}

/** A JSON value as a literal, on one line; undefined is `undefined`. */
export function json(value: unknown): Js {
  return literalOf(value) as Js
}

function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  return `{${Object.entries(value)
    .map(([key, item]) => `${jsonKey(key)}:${literalOf(item)}`)
    .join(',')}}`
}

/** Joins code with a separator. */
export function joined(list: readonly Js[], separator: '' | '\n' | ', ' | ' + ' | ' && ' | ' || ' | ' '): Js {
  return list.join(separator) as Js
}

/** Indents code by some levels. */
export function indented(depth: number, code: Js): Js {
  return ('  '.repeat(depth) + code) as Js
}

/** An arrow function with one expression. Without the parentheses, an object would be parsed as a block. */
export function arrow(params: readonly Js[], result: Js): Js {
  return js`(${joined(params, ', ')}) => (${result})`
}

/** A comment on its own line. */
export function comment(text: string): Js {
  return `// ${text.replaceAll(/\s+/g, ' ')}` as Js
}

/** A key of an object literal, quoted; an unquoted `__proto__` would set the prototype. */
export function jsonKey(key: string): Js {
  return (key === '__proto__' ? '["__proto__"]' : JSON.stringify(key)) as Js
}

/** A key of an object literal, quoted if it has to be. */
export function propertyKey(key: string): Js {
  return isIdentifier(key) && key !== '__proto__' ? (key as Js) : jsonKey(key)
}

/** The access to a member of the value before it. */
export function access(name: string): Js {
  return isIdentifier(name) ? (`.${name}` as Js) : json([name])
}

/** The same for a value that may be undefined. */
export function optionalAccess(name: string): Js {
  return js`?${isIdentifier(name) ? js`` : js`.`}${access(name)}`
}

/** A given name, which another module uses. Throws if the text is not an identifier. */
export function exactName(name: string): Js {
  if (!isIdentifier(name)) throw new Error(`${JSON.stringify(name)} is not a name`)
  return name as Js
}

export function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

/** Words that cannot be names. */
const RESERVED =
  'abstract arguments await async boolean break byte case catch char class const continue debugger default delete do double else enum eval export extends false final finally float for function get goto if implements import in instanceof int interface let long native new null of package private protected public return set short static super switch synchronized this throw throws transient true try typeof undefined var void volatile while with yield NaN Infinity Object Array JSON Map Set String Number Math Symbol isArray'

/** The names of a module. */
export class Names {
  private readonly taken = new Set<string>(RESERVED.split(' '))
  /** The number from which a name may be free. */
  private readonly numbers = new Map<string, number>()

  /** A name that is unique in the module, as close to the wish as possible. */
  name(wish: string): Js {
    const clean = wish.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=[0-9])/, '_') || '_'
    let name = clean
    let number = this.numbers.get(clean) ?? 2
    while (this.taken.has(name)) name = `${clean}_${number++}`
    this.numbers.set(clean, number)
    this.taken.add(name)
    return name as Js
  }

  [Symbol.iterator](): Iterator<string> {
    return this.taken.values()
  }
}
