// The output of a compilation: its files, and its units. A unit is compiled only if neither the base nor the cache has it.

import type { Finding } from '../read/findings.js'
import type { KnownUnits, Unit, UnitCache } from '../units.js'
import type { Module } from './module.js'
import type { Exports } from './modules.js'

/** Where the output is, and which part of it exists already. */
export interface Placement {
  /** The prefix of the path of a Sluice module in a file of the output, as in `../engine/`. */
  sluice(path: string): string
  /** Existing output of the settled documents. */
  base?: { url: string; units: KnownUnits }
  cache?: UnitCache
}

/** A unit of this compilation, and whether the base has it already. */
export interface PlacedUnit extends Unit {
  isBase: boolean
}

export class Output {
  /** The text of each file, by its path in the output. */
  readonly files = new Map<string, string>()
  readonly units: KnownUnits = {
    formats: {},
    mappings: {},
    dialects: {},
    routes: [],
    providers: [],
    gateway: undefined,
    catalogue: '',
    plan: {},
  }

  constructor(
    readonly placement: Placement,
    private readonly findings: readonly Finding[],
  ) {}

  /** The address of a file of the base. */
  inBase(path: string): string {
    return `${this.placement.base?.url}/${path}`
  }

  /** Prints a module and its source map to files of these paths. */
  print(path: string, module: Module, from: string): Unit {
    const sluice = this.placement.sluice(path)
    const { text, sourceMap } = module.print(`Made from ${from} by codegen; do not edit.`, name =>
      name === 'pictures' ? `${sluice}codegen/jsonata/number-and-date-formats.js` : `${sluice}engine/jsonata/${name}.js`,
    )
    return { files: { [path]: text, [`${path}.map.json`]: sourceMap }, names: { own: [...module.exported] } }
  }

  add(files: Unit['files']): void {
    for (const [path, text] of Object.entries(files)) this.files.set(path, text)
  }

  /** Compiles a unit that neither the base nor the cache has. The cache keeps it if nothing is wrong with it. */
  unit(kind: 'formats' | 'mappings' | 'dialects', name: string, key: string, make: () => Unit): PlacedUnit {
    const { base, cache } = this.placement
    const known = base?.units[kind][name]
    if (known?.key === key) {
      this.units[kind][name] = known
      return { isBase: true, files: {}, names: known.names }
    }
    const before = this.findings.length
    const cached = cache?.get(key)
    const made = cached ?? make()
    if (cached === undefined && this.findings.length === before) cache?.set(key, made)
    this.add(made.files)
    this.units[kind][name] = { key, names: made.names }
    return { isBase: false, ...made }
  }

  /** What the plan imports of a unit that is one module. */
  exportsOf(path: string, { isBase, names }: PlacedUnit): Exports {
    return { from: isBase ? this.inBase(path) : `./${path}`, names: new Set(names.own) }
  }
}
