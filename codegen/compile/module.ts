// A generated module: functions compiled from expressions of YAML files, and the source position of each line. Returned
// values are serialised to JSON, so an absent member may be printed as undefined.

import { type Node, parse, some } from '../jsonata/ast.js'
import { compileNode } from '../jsonata/compile.js'
import type { Global, Options } from '../jsonata/context.js'
import type { LambdaOf } from '../jsonata/copies.js'
import type { ReadsOf } from '../jsonata/growth.js'
import { comment, exactName, type Js, joined, js } from '../jsonata/js.js'
import { OBJ, type Operand, type Shape } from '../jsonata/types.js'
import { Lines, type Printed, Unit } from '../jsonata/unit.js'
import type { Finding } from '../read/findings.js'
import { Functions, type Library, type LibraryFunction, placeIn, type Source } from '../read/functions.js'
import type { SourcePosition } from '../read/yaml.js'

export class Module {
  readonly unit = new Unit()
  readonly lines = new Lines()
  /** The members of one argument that a library function may read; undefined if it may read all. */
  readonly readsOf: ReadsOf
  /** The library functions, by name. */
  readonly lambdaOf: LambdaOf = name => this.functions.find(name)?.lambda
  /** The names of the functions that it exports. */
  readonly exported = new Set<string>()
  private readonly positions: SourcePosition[] = []
  private readonly defined = new Map<string, Global>()
  private readonly functions: Functions

  constructor(
    readonly findings: Finding[],
    /** Functions that expressions may call, beside JSONata's own. */
    private readonly library: Library = new Map(),
    /** Variables that library functions may read. */
    private readonly shared: ReadonlyMap<string, Global> = new Map(),
  ) {
    this.functions = new Functions(library)
    this.readsOf = this.functions.readsOf
  }

  /** A copy of the module for trial compilations, whose output is thrown away. What is defined here is not compiled again. */
  trial(): Module {
    const module = new Module([], this.library, this.shared)
    for (const name of this.unit.taken()) module.unit.name(name)
    for (const [name, global] of this.defined) module.defined.set(name, global)
    return module
  }

  /** The tree of an expression; undefined, and a finding, if it does not parse. */
  parse(source: Source): Node | undefined {
    try {
      return parse(source.text)
    } catch (error) {
      const { position, message, code, token } = error as { position?: number; message?: string; code?: string; token?: string }
      const isEnd = token === '(end)' || token === undefined
      const at = isEnd ? source.document.inside(source.pointer, source.text.trimEnd().length) : placeIn(source, position)
      this.findings.push({
        ...at,
        rule: `jsonata/${code ?? 'syntax'}`,
        detail: message ?? String(error),
        remedy: 'correct the expression at this position',
      })
      return undefined
    }
  }

  /** Adds the lines of an expression to `into`; the operand is its result. */
  compile(source: Source, root: Operand, globals: ReadonlyMap<string, Global>, into: Lines, options: Options = {}): Operand {
    const node = this.parse(source)
    return node ? this.compileTree(node, source, root, globals, into, options) : { code: js`undefined`, bits: 1, stable: true }
  }

  compileTree(
    node: Node,
    source: Source,
    root: Operand,
    globals: ReadonlyMap<string, Global>,
    into: Lines,
    options: Options = {},
  ): Operand {
    const all = new Map([...this.definitions(node), ...this.shared, ...globals])
    const { lines, result, findings } = compileNode(node, this.unit, root, {
      isSerialised: true,
      readsOf: this.readsOf,
      lambdaOf: this.lambdaOf,
      ...options,
      globals: all,
    })
    for (const { rule, detail, position } of findings) {
      this.findings.push({
        ...placeIn(source, position),
        rule,
        detail,
        remedy: REMEDIES[rule] ?? 'change the expression',
      })
    }
    this.record(lines, source)
    into.entries.push(...lines.entries)
    return result
  }

  /** A callable function's tree, for a caller that inlines its body. */
  functionOf(name: string): LibraryFunction | undefined {
    const found = this.functions.find(name)
    return found && !found.lambda.signature ? found : undefined
  }

  /** Whether expressions may call a function of this name, beside JSONata's own. */
  has(name: string): boolean {
    return this.library.has(name)
  }

  /** The library functions that a tree calls, compiled on first use. */
  private definitions(node: Node): Map<string, Global> {
    const found = new Map<string, Global>()
    some(node, child => {
      if (child.type === 'variable' && this.library.has(child.value)) found.set(child.value, this.define(child.value))
      return false
    })
    return found
  }

  /** Finds the errors in functions that nothing calls by name, which are not printed. */
  checkAll(names: Iterable<string>): void {
    const trial = this.trial()
    for (const name of names) if (!this.defined.has(name)) trial.define(name)
    this.findings.push(...trial.findings)
  }

  private define(name: string): Global {
    const known = this.defined.get(name)
    if (known) return known
    const source = this.library.get(name) as Source
    const local = this.unit.name(name)
    const global: Global = { code: local, arity: 0 }
    this.defined.set(name, global)
    const node = this.parse(source)
    if (node === undefined) return global
    if (node.type !== 'lambda' || node.thunk) {
      this.findings.push({
        ...source.document.at(source.pointer),
        rule: 'mapping/define',
        detail: `${name} is not a function`,
        remedy: `write its parameters with its name, \`${name}($x)\`, or the whole as \`function($x) { … }\``,
      })
      return global
    }
    global.arity = node.arguments.length
    const body = new Lines()
    const operand = this.compileTree(node, source, { code: js`undefined`, bits: 1, stable: true, clean: true }, new Map(), body, {
      isSerialised: false,
    })
    this.lines.entries.push(...body.entries)
    this.lines.add(js`const ${local} = ${operand.code}`)
    if (operand.returns) global.result = operand.returns
    return global
  }

  /** Records the origin of lines: replaces their offsets by numbers of positions. */
  private record(lines: Lines, source: Source): void {
    const known = new Map<number, number>()
    const visit = (block: Lines): void => {
      for (const entry of block.entries) {
        if (entry instanceof Lines) visit(entry)
        else if ('text' in entry && entry.position !== undefined) {
          let number = known.get(entry.position)
          if (number === undefined) {
            number = this.positions.push(source.document.inside(source.pointer, entry.position)) - 1
            known.set(entry.position, number)
          }
          entry.position = number
        }
      }
    }
    visit(lines)
  }

  /** Exports a function whose body `build` fills; the operand that it returns is the function's result. */
  export(name: string, params: readonly string[], build: (body: Lines) => Operand | undefined): void {
    const body = new Lines()
    const result = build(body)
    this.exported.add(name)
    this.lines.add(js`export function ${exactName(name)}(${joined(params.map(exactName), ', ')}) {`)
    if (result) body.add(js`return ${result.code}`)
    this.lines.entries.push(body)
    this.lines.add(js`}`)
  }

  /** Exports a function that calls another: `call` is its result. */
  exportCall(name: string, params: readonly string[], call: Js): void {
    this.exported.add(name)
    this.lines.add(js`export function ${exactName(name)}(${joined(params.map(exactName), ', ')}) { return ${call} }`)
  }

  /** The module's text and, beside it, the source position of each line that has one. */
  print(header: string, resolve: (module: string) => string): { text: string; sourceMap: string } {
    const printed: Printed[] = []
    this.lines.print(0, printed)
    const lines = [{ text: comment(header), position: undefined }, ...this.unit.print(printed, resolve)]
    const files = [...new Set(this.positions.map(({ file }) => file))]
    const rows = lines.map(({ position }) => {
      const from = position === undefined ? undefined : this.positions[position]
      return from ? [files.indexOf(from.file), from.line, from.column] : 0
    })
    return { text: `${lines.map(line => line.text).join('\n')}\n`, sourceMap: JSON.stringify({ files, rows }) }
  }
}

export const REMEDIES: Readonly<Record<string, string>> = {
  'jsonata/undeclared': 'declare it, or see docs/data-language.md for the variables that this expression has',
  'jsonata/chance': 'use $ctx.id and $ctx.created',
  'jsonata/eval': 'write the expression itself',
  'jsonata/call': 'put a $ before the name',
  'jsonata/hidden': 'give the variable another name, or do without the function where the expression is given the variable',
  'jsonata/table': 'declare the table; add the rows, or a row _ for all others, or a default with ??',
  'jsonata/copies':
    'append in the fold itself, `{ "done": $append($sum.done, …) }`, where nothing else reads the list, so that it grows in place',
  'jsonata/field': 'correct the name, or add the field to the schema',
  'jsonata/query': 'correct the name, or add it to `forward_query` of a route',
  'jsonata/context': 'correct the name; docs/data-language.md lists the members',
  'jsonata/state': 'correct the name, or declare the member under `state`',
}

/** The input of an expression: an object parsed from JSON. */
export function objectInput(code: Js, shape?: Shape): Operand {
  return { code, bits: OBJ, stable: true, clean: true, ...(shape && { shape: { ...shape, bits: OBJ } }) }
}
