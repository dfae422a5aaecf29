// The modules that the plan imports, and the local names of their exports.

import { identifier } from '../compile/identifier.js'
import type { Modules } from '../compile/modules.js'
import { access, exactName, type Js, js } from '../jsonata/js.js'
import { Code } from './literal.js'

/**
 * The local name of a format's or mapping's module. A module that is not the base's has another name, because it changes
 * its users.
 */
export function localOf(kind: 'format' | 'mapping', name: string, { base, formats, mappings }: Modules): Js {
  const from = (kind === 'format' ? formats : mappings).get(name)?.from
  return exactName(`${base && from?.startsWith('./') ? 'own_' : ''}${kind}_${identifier(name)}`)
}

/** The member of an import. */
export function memberOfImport(local: Js, name: string): Code {
  return new Code(js`${local}${access(name)}`, local)
}

/** A function of one of the imported modules, if there is one of this name. */
export function functionOf(modules: ReadonlyMap<string, string>, name: string): Code | undefined {
  const module = modules.get(name)
  return module === undefined ? undefined : memberOfImport(exactName(module), name)
}

/** The same for one that must exist. */
export function functionIn(modules: ReadonlyMap<string, string>, name: string): Code {
  const found = functionOf(modules, name)
  if (found === undefined) throw new Error(`no module has ${name}`)
  return found
}

/** The address of a base's module as the base would write it; of another module, an address that no base has. */
export function addressInBase(address: string, { base }: Modules): string {
  if (base === undefined) return address
  const folder = base.from.replace(/plan\.js$/, '')
  return address.startsWith(folder) ? `./${address.slice(folder.length)}` : `own:${address}`
}
