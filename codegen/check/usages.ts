// Checks what is read as usage: meters that there are, of members that the dialect's answers and events have. Nothing else would
// tell: what is not found costs nothing.

import { FACTS, METERS } from '../../engine/core/meters.js'
import type { Node } from '../jsonata/ast.js'
import { placeIn, type Source, treeOf } from '../read/functions.js'
import { namesIn } from '../read/named.js'
import type { Entry, FormatData, Project } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { useOneOf } from '../read/suggest.js'
import type { Pointer, YamlDocument } from '../read/yaml.js'
import { Reader } from './reads.js'

/** What a usage may have: the meters, and what prices may depend on. */
const COUNTED: readonly string[] = [...Object.keys(METERS), ...FACTS]

/** Adds a finding for each wrong name in what new formats and providers read as usage, or watch a stream for. */
export function checkUsages(project: Project): void {
  const { formats, providers, settled } = project
  for (const format of formats.values()) if (!settled.has(format.document)) checkFormat(format, project)
  for (const { data, document } of providers.values()) {
    if (settled.has(document)) continue
    for (const [dialect, { usage }] of Object.entries(data.speaks))
      if (usage !== undefined) checkMeters({ document, pointer: ['speaks', dialect, 'usage'], text: usage }, project)
  }
}

function checkFormat({ name, data, document }: Entry<FormatData>, project: Project): void {
  const watch = data.stream?.watch
  const usages: [Pointer, string | undefined][] = [
    [['usage'], data.usage],
    [['asked'], data.asked],
    [['stream', 'watch', 'usage', 'read'], watch?.usage?.read],
  ]
  for (const [pointer, text] of usages) if (text !== undefined) checkMeters({ document, pointer, text }, project)
  checkReads(name, 'response', document, [[['usage'], data.usage]], project)
  const ofEvents: [Pointer, string | undefined][] = [
    [['stream', 'watch', 'usage', 'read'], watch?.usage?.read],
    [['stream', 'watch', 'content'], watch?.content],
    [['stream', 'watch', 'begin'], watch?.begin],
  ]
  for (const key of ['end', 'finish'] as const) {
    const sign = watch?.[key]
    ofEvents.push([['stream', 'watch', key, 'when'], sign && 'when' in sign ? sign.when : undefined])
  }
  checkReads(name, 'event', document, ofEvents, project)
}

/** The members of the objects that an expression may give must be meters. */
function checkMeters(source: Source, { findings }: Project): void {
  const node = treeOf(source.text)
  for (const key of node ? keysOf(node) : []) {
    const name = String(key.value)
    if (COUNTED.includes(name)) continue
    findings.push({
      ...placeIn(source, key.position),
      rule: 'names/meter',
      detail: `there is no meter ${name}`,
      remedy: useOneOf(COUNTED, name),
    })
  }
}

/** The keys of the objects that an expression may give, as far as they are written in it. */
function keysOf(node: Node): Extract<Node, { type: 'string' }>[] {
  switch (node.type) {
    case 'unary':
      if (node.value === '[') return node.expressions.flatMap(keysOf)
      return node.value === '{' ? node.lhs.flatMap(([key]) => (key.type === 'string' ? [key] : [])) : []
    case 'condition':
      return [node.then, ...(node.else ? [node.else] : [])].flatMap(keysOf)
    case 'block':
      return node.expressions.slice(-1).flatMap(keysOf)
    case 'path':
      return node.steps.slice(-1).flatMap(step => (step.type === 'sort' ? [] : keysOf(step)))
    case 'function':
      return node.procedure.type === 'variable' && node.procedure.value === 'merge' ? node.arguments.flatMap(keysOf) : []
    default:
      return []
  }
}

/** Names that expressions read must be in a schema of their dialect, where it lists its members. */
function checkReads(
  dialect: string,
  part: 'response' | 'event',
  document: YamlDocument,
  texts: readonly (readonly [Pointer, string | undefined])[],
  { schemas, library, settled, findings }: Project,
): void {
  const id = schemaId(dialect, part)
  if (!schemas.has(id)) return
  const seen = new Set<string>()
  const reader = new Reader(library, new Map(), (node, source, _of, name) => {
    const position = placeIn(source, node.position)
    const place = `${position.file}:${position.line}:${position.column}`
    // A dialect that is like another one may have fewer members than that one reads.
    if (settled.has(source.document) || (source.document === document && position.file !== document.file) || seen.has(place)) return
    seen.add(place)
    findings.push({
      ...position,
      rule: 'jsonata/field',
      detail: `the schema has no field ${name} here`,
      remedy: 'correct the name, or add the field to the schema',
    })
  })
  const input = { shapes: [namesIn(schemas, id)], path: part }
  for (const [pointer, text] of texts) if (text !== undefined) reader.read({ document, pointer, text }, new Map(), input)
}
