// A generated module in the making: its imports, its constants, its functions, and which position in the source each
// line came from. Prints text; knows nothing of JSONata.

/** Lines of one JavaScript block. A placeholder collects the declarations that its block turns out to need. */
export class Lines {
  readonly entries: (Line | Lines | Declarations)[] = []

  add(text: string, position?: number): Line {
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

  insert(index: number, text: string, position?: number): void {
    this.entries.splice(index, 0, { text, position })
  }

  isEmpty(): boolean {
    return this.entries.every(entry => (entry instanceof Lines || entry instanceof Declarations ? entry.isEmpty() : false))
  }

  print(depth: number, into: Printed[]): void {
    const indent = '  '.repeat(depth)
    for (const entry of this.entries) {
      if (entry instanceof Lines) entry.print(depth + 1, into)
      else if (entry instanceof Declarations) {
        if (!entry.isEmpty()) into.push({ text: `${indent}let ${entry.names.join(', ')}`, position: undefined })
      } else into.push({ text: indent + entry.text, position: entry.position })
    }
  }
}

export class Declarations {
  readonly names: string[] = []

  isEmpty(): boolean {
    return this.names.length === 0
  }
}

export interface Line {
  text: string
  position: number | undefined
}

export interface Printed {
  text: string
  /** Where in the source the line came from: an offset of the caller's own counting. */
  position: number | undefined
}

/** Words that a generated name must not be. */
const RESERVED = new Set(
  'abstract arguments await async boolean break byte case catch char class const continue debugger default delete do double else enum eval export extends false final finally float for function get goto if implements import in instanceof int interface let long native new null of package private protected public return set short static super switch synchronized this throw throws transient true try typeof undefined var void volatile while with yield NaN Infinity Object Array JSON Map Set String Number Math Symbol isArray'.split(
    ' ',
  ),
)

/** A key of an object literal: in JavaScript one would name the prototype. */
export function propertyKey(key: string): string {
  if (key === '__proto__') return '["__proto__"]'
  return isIdentifier(key) ? key : JSON.stringify(key)
}

export function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

/** JavaScript that takes a member of what stands before it. */
export function access(name: string): string {
  return isIdentifier(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

export class Unit {
  private readonly names = new Set<string>(RESERVED)
  private readonly imported = new Map<string, Map<string, string>>()
  private readonly constants = new Map<string, string>()
  private readonly heads: Printed[] = []

  /** A name that nothing else in the module has, as near to the wish as may be. */
  name(wish: string): string {
    const clean = wish.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=[0-9])/, '_') || '_'
    let name = clean
    for (let number = 2; this.names.has(name); number++) name = `${clean}_${number}`
    this.names.add(name)
    return name
  }

  /** The names that there are. */
  taken(): Iterable<string> {
    return this.names
  }

  /** The local name of something that a run-time module exports. */
  use(module: string, name: string): string {
    let names = this.imported.get(module)
    if (names === undefined) this.imported.set(module, (names = new Map()))
    let local = names.get(name)
    if (local === undefined) names.set(name, (local = this.name(name)))
    return local
  }

  /** The name of a constant with this text; the same text is the same constant. */
  constant(wish: string, text: string): string {
    let name = this.constants.get(text)
    if (name === undefined) {
      name = this.name(wish)
      this.constants.set(text, name)
      this.heads.push({ text: `const ${name} = ${text}`, position: undefined })
    }
    return name
  }

  /** The module's text: imports with the given path for each run-time module, constants, then the given lines. */
  print(lines: Printed[], resolve: (module: string) => string): Printed[] {
    const imports: Printed[] = []
    for (const [module, names] of this.imported) {
      const list = [...names].map(([name, local]) => (name === local ? name : `${name} as ${local}`)).sort()
      imports.push({ text: `import { ${list.join(', ')} } from ${JSON.stringify(resolve(module))}`, position: undefined })
    }
    return [...imports, { text: 'const { isArray } = Array', position: undefined }, ...this.heads, ...lines]
  }

  /** The same as a function body that is handed the run-time modules as `modules`. */
  printInline(lines: Printed[]): string {
    const imports = [...this.imported].map(
      ([module, names]) =>
        `const { ${[...names].map(([name, local]) => (name === local ? name : `${name}: ${local}`)).join(', ')} } = modules[${JSON.stringify(module)}]`,
    )
    return [...imports, 'const { isArray } = Array', ...this.heads.map(line => line.text), ...lines.map(line => line.text)].join('\n')
  }
}
