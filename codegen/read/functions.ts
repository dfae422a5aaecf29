// The functions of a library as trees, and what they read of their arguments.

import type { LibraryData, MappingData } from '../../schemas/config/types.js'
import { type LambdaNode, type Node, parse, some, tokenStart } from '../jsonata/ast.js'
import { type ReadsOf, readsIn } from '../jsonata/growth.js'
import type { Pointer, SourcePosition, YamlDocument } from './yaml.js'

/** An expression in a file. */
export interface Source {
  document: YamlDocument
  pointer: Pointer
  text: string
}

/** Where a token of an expression is, in its file. */
export function placeIn({ document, pointer, text }: Source, position = 0): SourcePosition {
  return document.inside(pointer, tokenStart(text, position))
}

/** Expressions that others can call by name. */
export type Library = ReadonlyMap<string, Source>

/** A function of a library. */
export interface LibraryFunction {
  lambda: LambdaNode
  source: Source
}

/** The tree of an expression; undefined if its text is wrong, which the compiler reports. */
export function treeOf(text: string): Node | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** The variable of what the client's half reads in a request, in the terms of schemas/conversation.yaml. */
export const ASK = 'ask'

/** Whether a condition is on what the client's half reads. */
export function seesAsk(text: string): boolean {
  const tree = treeOf(text)
  return tree !== undefined && some(tree, node => node.type === 'variable' && node.value === ASK)
}

export class Functions {
  private readonly reads = new Map<string, ReadonlySet<string> | undefined>()

  constructor(private readonly library: Library) {}

  /** A function with its tree; undefined if there is no such function, or if its text is wrong, which the compiler reports. */
  readonly find = (name: string): LibraryFunction | undefined => {
    const source = this.library.get(name)
    const node = source && treeOf(source.text)
    return source && node?.type === 'lambda' && !node.thunk ? { lambda: node, source } : undefined
  }

  /** The members of one argument that a function may read; undefined if it may read all. */
  readonly readsOf: ReadsOf = (name, index) => {
    const key = `${name} ${index}`
    if (this.reads.has(key)) return this.reads.get(key)
    // Nothing is known of a recursive function.
    this.reads.set(key, undefined)
    const found = this.find(name)
    if (found) this.reads.set(key, readsIn(found.lambda, index, this.readsOf))
    return this.reads.get(key)
  }
}

/** What has functions, and uses those of others. */
export type FunctionUser = { data: Pick<MappingData, 'uses' | 'define'>; document: YamlDocument }

/**
 * The functions that a mapping sees, by name, with their origin: the library's, those of the parts that the mapping uses,
 * and its own.
 */
export function* functionsSeen(
  { data, document }: FunctionUser,
  { library, parts }: { library: Library; parts: ReadonlyMap<string, { data: LibraryData; document: YamlDocument }> },
): Generator<[name: string, source: Source, from: Pointer]> {
  for (const [name, source] of library) yield [name, source, []]
  for (const [index, used] of (data.uses ?? []).entries()) {
    const part = parts.get(used)
    if (part === undefined) continue
    for (const [name, text] of Object.entries(part.data.functions))
      yield [name, { document: part.document, pointer: ['functions', name], text }, ['uses', index]]
  }
  for (const [name, text] of Object.entries(data.define)) yield [name, { document, pointer: ['define', name], text }, ['define', name]]
}

/** The functions that a mapping sees. */
export function libraryOf(user: FunctionUser, project: Parameters<typeof functionsSeen>[1]): Library {
  return new Map([...functionsSeen(user, project)].map(([name, source]) => [name, source]))
}
