// Functions whose parameters stand with their name: `first_of($list): $list[0]`. The rest of the compiler sees them as if they had
// been written `first_of: function($list) {(…)}`, and finds places in the file as it is.

import type { Finding } from './findings.js'
import type { Pointer, SourcePosition, YamlDocument } from './yaml.js'

/** The members of a file that have functions. */
const MEMBERS = ['functions', 'define']

/** A name with its parameters. */
const SIGNATURE = /^(\w+)\((\s*|\s*\$\w+(?:\s*,\s*\$\w+)*\s*)\)$/

interface Written {
  /** Its key in the file. */
  key: string
  /** What is before the body. */
  head: string
}

/** A file's document in which each function has its whole text under its name alone. */
export function withWholeFunctions(document: YamlDocument, findings: Finding[]): YamlDocument {
  const written = new Map<string, Written>()
  const value = { ...Object(document.value) }
  for (const member of MEMBERS) {
    const functions = value[member]
    if (typeof functions !== 'object' || functions === null) continue
    value[member] = wholeFunctions(functions, (key, name, head) => {
      const place = placeOf([member, name])
      if (Object.hasOwn(functions, name) || written.has(place)) findings.push(isTwice(document.key([member, key]), name))
      else written.set(place, { key, head })
    })
  }
  if (written.size === 0) return document
  const found = (pointer: Pointer): Written | undefined => written.get(placeOf(pointer))
  const inFile = (pointer: Pointer): Pointer => {
    const known = found(pointer)
    return known === undefined ? pointer : [...pointer.slice(0, 1), known.key, ...pointer.slice(2)]
  }
  return {
    ...document,
    value,
    at: pointer => document.at(inFile(pointer)),
    key: pointer => document.key(inFile(pointer)),
    inside: (pointer, offset) => {
      const before = found(pointer)?.head.length ?? 0
      // Of what is before the body only the parameters are in the file.
      return offset < before ? document.key(inFile(pointer)) : document.inside(inFile(pointer), offset - before)
    },
  }
}

const placeOf = ([member, name]: Pointer): string => `${member}/${name}`

/** The functions by their names alone; `tell` is told of each that has its parameters with its name. */
function wholeFunctions(functions: object, tell: (key: string, name: string, head: string) => void): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(functions).map(([key, body]) => {
      const [, name, parameters] = SIGNATURE.exec(key) ?? []
      if (name === undefined || typeof body !== 'string') return [key, body]
      const head = `function(${parameters}) {(`
      tell(key, name, head)
      return [name, `${head}${body})}`]
    }),
  )
}

const isTwice = (place: SourcePosition, name: string): Finding => ({
  ...place,
  rule: 'names/function',
  detail: `${name} is defined twice in this file`,
  remedy: 'choose another name, or remove one of them',
})
