// The modules of a compilation, as the plan refers to them.

/** The address of a module, and the names that it exports. */
export interface Exports {
  /** The address, as the plan imports it. */
  from: string
  names: ReadonlySet<string>
}

/** The locations of the modules that the plan refers to. */
export interface Modules {
  formats: ReadonlyMap<string, Exports>
  mappings: ReadonlyMap<string, Exports>
  /** Further imports of the plan: addresses by local name. */
  imports: ReadonlyMap<string, string>
  /** For each function of these: the local name of its module. */
  validators: ReadonlyMap<string, string>
  normalisers: ReadonlyMap<string, string>
  unnamed: ReadonlyMap<string, string>
  routes: ReadonlyMap<string, string>
  providers: ReadonlyMap<string, string>
  /** The modules that are imported on demand: addresses by dialect. */
  shapes: ReadonlyMap<string, string>
  /** The address of the validator of gateway.yaml. */
  gateway: string | undefined
  /** The address of the catalogue. */
  catalogue: string
  /** A plan with the same entries except for those that differ: its address, and the hash of each of its entries. */
  base?: { from: string; entries: Readonly<Record<string, string>> }
}
