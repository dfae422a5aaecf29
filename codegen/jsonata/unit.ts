// A generated module under construction: its imports, constants and functions, and the source position of each line. Prints
// text; knows nothing of JSONata.

import { exactName, indented, type Js, joined, js, json, Names } from './js.js'

/** Lines of a JavaScript block. A placeholder collects declarations that the block turns out to need. */
export class Lines {
  readonly entries: (Line | Lines | Declarations)[] = []

  add(text: Js, position?: number): Line {
    const line = { text, position }
    this.entries.push(line)
    return line
  }

  declarations(): Declarations {
    const entry = new Declarations()
    this.entries.push(entry)
    return entry
  }

  /** A nested block: everything added to it is printed one level deeper. */
  nested(): Lines {
    const inner = new Lines()
    this.entries.push(inner)
    return inner
  }

  get length(): number {
    return this.entries.length
  }

  insert(index: number, text: Js, position?: number): void {
    this.entries.splice(index, 0, { text, position })
  }

  isEmpty(): boolean {
    return this.entries.every(entry => (entry instanceof Lines || entry instanceof Declarations ? entry.isEmpty() : false))
  }

  print(depth: number, into: Printed[]): void {
    for (const entry of this.entries) {
      if (entry instanceof Lines) entry.print(depth + 1, into)
      else if (entry instanceof Declarations) {
        if (!entry.isEmpty()) into.push({ text: indented(depth, js`let ${joined(entry.names, ', ')}`), position: undefined })
      } else into.push({ text: indented(depth, entry.text), position: entry.position })
    }
  }
}

export class Declarations {
  readonly names: Js[] = []

  isEmpty(): boolean {
    return this.names.length === 0
  }
}

export interface Line {
  text: Js
  position: number | undefined
}

export interface Printed {
  text: Js
  /** The source position of the line, in the caller's own units. */
  position: number | undefined
}

export class Unit {
  private readonly names = new Names()
  private readonly imported = new Map<string, Map<string, Js>>()
  private readonly constants = new Map<Js, Js>()
  private readonly heads: Printed[] = []

  /** A name that is unique in the module, as close to the wish as possible. */
  name(wish: string): Js {
    return this.names.name(wish)
  }

  /** The used names. */
  taken(): Iterable<string> {
    return this.names
  }

  /** The local name of an export of a run-time module. */
  use(module: string, name: string): Js {
    let names = this.imported.get(module)
    if (names === undefined) this.imported.set(module, (names = new Map()))
    let local = names.get(name)
    if (local === undefined) names.set(name, (local = this.name(name)))
    return local
  }

  /** The name of a constant with this text; equal texts share a constant. */
  constant(wish: string, text: Js): Js {
    let name = this.constants.get(text)
    if (name === undefined) {
      name = this.name(wish)
      this.constants.set(text, name)
      this.heads.push({ text: js`const ${name} = ${text}`, position: undefined })
    }
    return name
  }

  /** The module's lines: imports with the path of each run-time module, constants, then the given lines. */
  print(lines: Printed[], resolve: (module: string) => string): Printed[] {
    const imports: Printed[] = []
    for (const [module, names] of this.imported) {
      const list = [...names].map(([name, local]) => (name === local ? local : js`${exactName(name)} as ${local}`)).sort()
      imports.push({ text: js`import { ${joined(list, ', ')} } from ${json(resolve(module))}`, position: undefined })
    }
    return [...imports, { text: js`const { isArray } = Array`, position: undefined }, ...this.heads, ...lines]
  }

  /** The same as a function body that receives the run-time modules as `modules`. */
  printInline(lines: Printed[]): Js {
    const imports = [...this.imported].map(([module, names]) => {
      const list = [...names].map(([name, local]) => (name === local ? local : js`${exactName(name)}: ${local}`))
      return js`const { ${joined(list, ', ')} } = modules[${json(module)}]`
    })
    const texts = [...this.heads, ...lines].map(line => line.text)
    return joined([...imports, js`const { isArray } = Array`, ...texts], '\n')
  }
}
