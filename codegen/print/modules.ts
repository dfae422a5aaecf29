// The modules that the plan puts together, and how it names what they export.

import { identifier } from '../compile/identifier.js'
import { access, exactName, type Js, js } from '../jsonata/js.js'
import { Code } from './literal.js'

/** A module that stands somewhere, and the names that it exports. */
export interface Exports {
  /** As an import from the plan says it. */
  from: string
  names: ReadonlySet<string>
}

/** Where codegen has put what the plan refers to. */
export interface Modules {
  formats: ReadonlyMap<string, Exports>
  mappings: ReadonlyMap<string, Exports>
  /** Other modules that the plan imports: by their local name, as an import says them. */
  imports: ReadonlyMap<string, string>
  /** For each function of these: the local name of its module. */
  validators: ReadonlyMap<string, string>
  normalisers: ReadonlyMap<string, string>
  unnamed: ReadonlyMap<string, string>
  routes: ReadonlyMap<string, string>
  providers: ReadonlyMap<string, string>
  /** By the dialects' own names, as an import says them: these are loaded when they are needed. */
  shapes: ReadonlyMap<string, string>
  /** The validator of gateway.yaml, as an import says it. */
  gateway: string | undefined
  /** What is known of models, as an import says it. */
  catalogue: string
  /** A plan that has the same entries but for those that differ: where it stands, and the hash of each of its entries. */
  base?: { from: string; entries: Readonly<Record<string, string>> }
}

/** The local name of a format's or mapping's module. One that is not the base's has another, since what reads it differs then. */
export function localOf(kind: 'format' | 'mapping', name: string, { base, formats, mappings }: Modules): Js {
  const from = (kind === 'format' ? formats : mappings).get(name)?.from
  return exactName(`${base && from?.startsWith('./') ? 'own_' : ''}${kind}_${identifier(name)}`)
}

/** What an import has under a name. */
export function memberOfImport(local: Js, name: string): Code {
  return new Code(js`${local}${access(name)}`, local)
}

/** A function of one of the modules that the plan imports, where there is one of this name. */
export function functionOf(modules: ReadonlyMap<string, string>, name: string): Code | undefined {
  const module = modules.get(name)
  return module === undefined ? undefined : memberOfImport(exactName(module), name)
}

/** The same of one that has to be there. */
export function functionIn(modules: ReadonlyMap<string, string>, name: string): Code {
  const found = functionOf(modules, name)
  if (found === undefined) throw new Error(`no module has ${name}`)
  return found
}

/** The address of a module as the base would write it, for a module of the base; of others it is one that no base has. */
export function addressInBase(address: string, { base }: Modules): string {
  if (base === undefined) return address
  const folder = base.from.replace(/plan\.js$/, '')
  return address.startsWith(folder) ? `./${address.slice(folder.length)}` : `own:${address}`
}
