// The modules of expressions of routes and of providers. The functions of settled files are in the base's module, those of an
// overlay in a module of its own.

import type { Module } from './module.js'
import type { Output } from './output.js'

/** Where the functions of one kind of file are. */
export interface ExpressionModules {
  /** For each function: the local name of its module. */
  functions: Map<string, string>
  /** Addresses by local name. */
  imports: [local: string, from: string][]
}

/** `settled`: the functions of settled files; `module`: those of the others. */
export function placeExpressions(
  kind: 'routes' | 'providers',
  settled: readonly string[],
  module: Module,
  output: Output,
): ExpressionModules {
  const { base } = output.placement
  const { files, names } = output.print(`${kind}.js`, module, `${kind}/`)
  output.add(files)
  const own = base ? `own_${kind}` : kind
  const isSettled = new Set(settled)
  const functions = new Map([
    ...(base?.units[kind] ?? []).filter(name => isSettled.has(name)).map((name): [string, string] => [name, kind]),
    ...(names.own ?? []).map((name): [string, string] => [name, own]),
  ])
  output.units[kind] = [...functions.keys()]
  const address = `./${kind}.js`
  return {
    functions,
    imports: base
      ? [
          [kind, output.inBase(`${kind}.js`)],
          [own, address],
        ]
      : [[kind, address]],
  }
}
