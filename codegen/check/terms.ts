// Holds the halves of dialects against the terms between them, schemas/conversation.yaml: what one half makes of a request, an
// answer or a stream, what the other one reads of it, and the terms that `lacks` and `terms` name. A half is checked without
// the other one: what it gives to a function that it does not see passes.

import type { LibraryData, MappingStep as Step } from '../../schemas/config/types.js'
import type { Node } from '../jsonata/ast.js'
import type { Shape } from '../jsonata/types.js'
import { ASK, type FunctionUser, libraryOf, placeIn, type Source } from '../read/functions.js'
import { namesIn } from '../read/named.js'
import { isOfHalf, type MappingData, withUsed } from '../read/parts.js'
import type { Project } from '../read/project.js'
import { type Schema, schemaId, shapeOf } from '../read/schemas.js'
import { nearest, useOneOf } from '../read/suggest.js'
import type { Pointer, YamlDocument } from '../read/yaml.js'
import { fieldsOf, unknownIn } from './ledger.js'
import { OF_TERMS, Walker } from './made.js'
import { Members } from './members.js'
import { Reader, type Value } from './reads.js'

/** What halves hand over: functions `read_…` return it, and `write_…` take it. */
const HANDED_OVER = [ASK, 'answer', 'vectors', 'ranking', 'usage', 'stop']
const MAKES: ReadonlyMap<string, string> = new Map(HANDED_OVER.map(term => [`read_${term}`, term]))
const TAKES: ReadonlyMap<string, string> = new Map(HANDED_OVER.map(term => [`write_${term}`, term]))

/** The parts of a file in which terms are used. */
type Said = Partial<Pick<LibraryData, 'functions' | 'lacks' | 'terms' | 'fields' | 'stream'> & Pick<MappingData, 'define'>>

type Terms = ReadonlyMap<string, Shape>

/** Adds a finding for each term of a new part or mapping that the conversation does not have. */
export function checkTerms(project: Project): void {
  const { conversation, parts, mappings, formats, settled } = project
  if (conversation === undefined) return
  const terms = termsOf(conversation)
  const halves = new Map<string, TermsCheck>()
  for (const [name, { data, document }] of parts) {
    if (settled.has(document)) continue
    const half = isOfHalf(name) ? name.slice(0, name.lastIndexOf('/') + 1) : name
    const beside = [...parts.keys()].filter(other => other === name || (isOfHalf(name) && other.startsWith(half)))
    const check = halves.get(half) ?? new TermsCheck(project, terms, { data: { uses: withUsed(beside, parts), define: {} }, document })
    halves.set(half, check)
    check.check(data, document, isOfHalf(name) ? name.slice(0, name.indexOf('/')) : '')
  }
  const made = new Set([...formats.values()].map(({ document }) => document))
  // A pair without a file of its own has the document of a format.
  for (const mapping of mappings.values())
    if (!settled.has(mapping.document) && !made.has(mapping.document) && mapping.data.uses?.some(isOfHalf))
      new TermsCheck(project, terms, mapping).check(mapping.document.value as Said, mapping.document, '')
}

/** The shapes of the terms, by their names. */
function termsOf(conversation: Schema): Terms {
  const id = schemaId('conversation', 'terms')
  const { $defs } = conversation as { $defs: Record<string, Schema> }
  return shapeOf(new Map([[id, { $defs, properties: $defs }]]), id).members ?? new Map()
}

class TermsCheck {
  private readonly walker: Walker
  private readonly reader: Reader
  private readonly reported = new Set<string>()
  private readonly told: Terms
  private document: YamlDocument

  constructor(
    private readonly project: Project,
    private readonly terms: Terms,
    user: FunctionUser,
  ) {
    const library = libraryOf(user, project)
    this.document = user.document
    this.walker = new Walker(library, project.findings, OF_TERMS)
    const results = [...MAKES].map(([name, term]) => [name, this.valueOf(term)] as const)
    this.reader = new Reader(library, new Map(results), (...missing) => this.missing(...missing))
    this.told = terms.get('told')?.members ?? new Map()
  }

  /** `dialect`: the one of a half. */
  check(said: Said, document: YamlDocument, dialect: string): void {
    this.document = document
    for (const key of ['functions', 'define'] as const)
      for (const [name, text] of Object.entries(said[key] ?? {})) this.function(name, this.source([key, name], text), dialect)
    this.lacks(said, dialect)
    this.named(said, dialect)
    for (const kind of ['dropped', 'refused'] as const)
      for (const [path, rule] of Object.entries(said.fields?.[kind] ?? {}))
        if (typeof rule === 'object' && rule.when !== undefined) this.asked(['fields', kind, path, 'when'], rule.when)
    const { stream } = said
    this.steps(stream?.steps ?? [], ['stream', 'steps'], new Map())
    for (const [word, steps] of Object.entries(stream?.writes ?? {})) {
      const shape = this.told.get(word)
      this.steps(steps, ['stream', 'writes', word], new Map(shape ? [['told', { shapes: [shape], path: 'told' }]] : []))
    }
  }

  private function(name: string, source: Source, dialect: string): void {
    const made = MAKES.get(name)
    const shape = made === undefined ? undefined : this.terms.get(made)
    if (made !== undefined && shape) this.walker.term(source, made, shape)
    this.reader.call(source, this.taken(name, dialect))
  }

  /** What a function is given: a term, or a provider's whole answer. */
  private taken(name: string, dialect: string): Value[] {
    const { schemas } = this.project
    const id = schemaId(dialect, 'response')
    if (name === 'read_answer' && schemas.has(id)) return [{ shapes: [namesIn(schemas, id)], path: 'response' }]
    const term = TAKES.get(name)
    return term === undefined ? [] : [this.valueOf(term)]
  }

  private lacks({ lacks = {} }: Said, dialect: string): void {
    for (const [term, lack] of Object.entries(lacks)) {
      this.term(['lacks', term], term)
      if (typeof lack === 'string') continue
      if (lack.when !== undefined) this.asked(['lacks', term, 'when'], lack.when)
      if (lack.sent !== undefined) this.field(['lacks', term, 'sent'], lack.sent, dialect)
    }
  }

  private named({ terms = {} }: Said, dialect: string): void {
    for (const [term, fields] of Object.entries(terms)) {
      this.term(['terms', term], term)
      if (typeof fields === 'string') this.field(['terms', term], fields, dialect)
      else fields.forEach((field, index) => void this.field(['terms', term, index], field, dialect))
    }
  }

  private asked(pointer: Pointer, text: string): void {
    this.reader.read(this.source(pointer, text), new Map([[ASK, this.valueOf(ASK)]]))
  }

  private steps(steps: readonly Step[], pointer: Pointer, scope: ReadonlyMap<string, Value>): void {
    for (const [index, step] of steps.entries()) {
      const here = [...pointer, index]
      for (const key of ['when', 'for', 'set', 'emit', 'fail', 'whole'] as const) {
        const text = step[key]
        if (text !== undefined) this.reader.read(this.source([...here, key], text), scope)
      }
      const inside = new Map(scope)
      for (const [name, text] of Object.entries(step.let ?? {}))
        inside.set(name, this.reader.read(this.source([...here, 'let', name], text), inside))
      for (const [word, text] of Object.entries(step.tell ?? {})) {
        const source = this.source([...here, 'tell', word], text)
        const shape = this.told.get(word)
        // A word that nobody writes is found where the halves are joined.
        if (shape) this.walker.term(source, `told.${word}`, shape)
        this.reader.read(source, scope)
      }
      this.steps(step.steps ?? [], [...here, 'steps'], inside)
    }
  }

  /** A path in what a client asks. */
  private term(pointer: Pointer, path: string): void {
    const ask = this.terms.get(ASK)
    const names = path.split('.')
    const missing = ask && new Members().missing(ask, names)
    if (missing === undefined) return
    const name = names[missing.at] as string
    this.project.findings.push({
      ...this.document.key(pointer),
      rule: 'mapping/term',
      detail: `${[ASK, ...names.slice(0, missing.at)].join('.')} has no member "${name}"`,
      remedy: useOneOf(missing.known, name),
    })
  }

  /** A path in the requests of the half's dialect. */
  private field(pointer: Pointer, path: string, dialect: string): void {
    const { schemas, findings } = this.project
    const known = unknownIn(path, fieldsOf(schemas, schemaId(dialect, 'request')))
    if (known === undefined) return
    findings.push({
      ...this.document.at(pointer),
      rule: 'ledger/unknown',
      detail: `the request has no field ${path}`,
      remedy: useOneOf(known, path),
    })
  }

  private missing(node: Node, source: Source, of: string, name: string, known: readonly string[]): void {
    // What is built in is right, whatever a new half gives to it.
    if (this.project.settled.has(source.document)) return
    const position = placeIn(source, node.position)
    const key = `${position.file}:${position.line}:${position.column}`
    if (this.reported.has(key)) return
    this.reported.add(key)
    const isAnswer = /^response\b/.test(of)
    // A function may be for parts of an answer that have different members.
    if (isAnswer && nearest(known, name) === undefined) return
    this.project.findings.push({
      ...position,
      rule: isAnswer ? 'jsonata/field' : 'mapping/term',
      detail: `${of} has no member "${name}"`,
      remedy: useOneOf(known, name),
    })
  }

  private valueOf(term: string): Value {
    const shape = this.terms.get(term)
    return shape ? { shapes: [shape], path: term } : {}
  }

  private source(pointer: Pointer, text: string): Source {
    return { document: this.document, pointer, text }
  }
}
