// A name under which one dialect has JSON of the application's own (a schema, arguments, a result) stands for it in each dialect:
// wherever a schema has such a name and leaves open what is in it, `verbatim` of the format names its path, so that numbers
// keep their digits; or it is listed here with the reason.

import { describe, expect, test } from 'vitest'
import { schemaId } from '../../codegen/read/schemas.js'
import { plan, project } from '../properties/plan.js'
import { type Applied, pathsOf } from './schema-paths.js'

/** Paths of objects with such a name that no mapping reads. */
const LEFT: Readonly<Record<string, readonly RegExp[]>> = {
  // The grammar of a tool that takes text.
  chat: [/^tools\[\]\.custom\.format$/],
  // Instructions are text, and a provider's answer has no results of the application's tools.
  generate: [/^system_?[iI]nstruction\./, /^candidates\[\]\.content\.parts\[\]\.function_?([rR]esponse|call)\./],
  // The beginning of a stream, which has no content yet.
  messages: [/^message\.content\[\]\.input$/],
  // Items of a kind that no schema has, and what an answer repeats of its request.
  responses: [/^input\[\]\.\*$/, /^(response\.)?((tools\[\]\.){1,2}parameters|text\.format\.schema)$/],
}

const SAYS_MORE = [
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
  'union',
  'properties',
  'additionalProperties',
  'items',
  'enum',
  'const',
  'pattern',
  'required',
]

/** Whether it allows any object. */
const isOpen = ({ schema }: Applied): boolean =>
  SAYS_MORE.every(keyword => !(keyword in schema)) && (schema.type === undefined || [schema.type].flat().includes('object'))

/** Whether a verbatim path leads to the path or to something around it; one item may stand for a list of it. */
function isWithin(path: string, verbatim: readonly string[]): boolean {
  const around = verbatim.map(name => (name === '[]' ? '[]' : `.${name}`)).join('')
  const whole = `.${path}`
  return [whole, whole.replaceAll('[]', '')].some((text, index) => {
    const start = index === 0 ? around : around.replaceAll('[]', '')
    return text === start || text.startsWith(`${start}.`) || text.startsWith(`${start}[`)
  })
}

/** The last names of all verbatim paths. */
const OWN = new Set(
  Object.values(plan.dialects).flatMap(({ verbatim }) =>
    Object.values(verbatim ?? {}).flatMap(paths => paths.map(path => path.findLast(name => name !== '[]'))),
  ),
)
const isOwn = (path: string): boolean =>
  OWN.has(
    path
      .replaceAll(/\[\]|\.\*/g, '')
      .split('.')
      .at(-1),
  )

describe.each(Object.values(plan.dialects).filter(({ verbatim }) => verbatim !== undefined))('$name', dialect => {
  test.each(['request', 'response', 'event'] as const)('every open object of the application in a %s is verbatim or listed', part => {
    const id = schemaId(dialect.name, part)
    if (!project.schemas.has(id)) return
    const paths = dialect.verbatim?.[part] ?? []
    const left = LEFT[dialect.name] ?? []
    const open = pathsOf(id, isOpen).filter(isOwn)
    const missing = open.filter(path => !paths.some(verbatim => isWithin(path, verbatim)) && !left.some(pattern => pattern.test(path)))
    expect(missing).toEqual([])
  })
})
