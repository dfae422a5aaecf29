// The expressions of gateway.yaml: found, checked and compiled, before the file is linked. A file without any loads nothing.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import type { ModelConfig } from '../engine/snapshot/config.js'
import { type Compiled, type Expressions, NO_EXPRESSIONS } from '../engine/snapshot/expressions.js'
import type { GatewayData } from '../schemas/config/types.js'

interface Place {
  pointer: Pointer
  text: string
  /** It sees a request to a provider, and not what else is known of one. */
  isPatch?: boolean
}

function expressionsIn(models: GatewayData['models']): Place[] {
  return Object.entries(models).flatMap(([name, { targets, sticky, patch }]) => [
    ...(sticky ? [{ pointer: ['models', name, 'sticky', 'by'] as Pointer, text: sticky.by }] : []),
    ...patchesIn(patch, ['models', name, 'patch']),
    ...targets.flatMap((target, index) => [
      ...(target.only === undefined ? [] : [{ pointer: ['models', name, 'targets', index, 'only'] as Pointer, text: target.only }]),
      ...patchesIn(target.patch, ['models', name, 'targets', index, 'patch']),
    ]),
  ])
}

function patchesIn(patch: ModelConfig['patch'], pointer: Pointer): Place[] {
  if (patch === undefined) return []
  if (typeof patch === 'string') return [{ pointer, text: patch, isPatch: true }]
  return Object.entries(patch).map(([dialect, text]) => ({ pointer: [...pointer, dialect], text, isPatch: true }))
}

/** What is wrong with the expressions of a file. */
export async function expressionFindings(models: GatewayData['models'], document: YamlDocument): Promise<Finding[]> {
  const places = expressionsIn(models)
  if (places.length === 0) return []
  const { problemsIn } = await import('../codegen/compile/problems.js')
  return places.flatMap(({ pointer, text, isPatch }) =>
    (isPatch ? problemsIn(text, undefined, ['ctx']) : problemsIn(text, ['key', 'groups', 'headers', 'request'])).map(
      ({ rule, detail, remedy, offset }) => ({
        ...document.inside(pointer, offset),
        rule,
        detail,
        remedy,
      }),
    ),
  )
}

/** The expressions of a file in which nothing is wrong, compiled. */
export async function compileExpressions(models: Readonly<Record<string, ModelConfig>>): Promise<Expressions> {
  const texts = new Set<string>()
  for (const { targets, routing, patch } of Object.values(models)) {
    for (const { only } of targets) if (only !== undefined) texts.add(only)
    for (const said of [patch, ...targets.map(target => target.patch)]) for (const { text } of patchesIn(said, [])) texts.add(text)
    if (routing?.sticky) texts.add(routing.sticky.by)
  }
  if (texts.size === 0) return NO_EXPRESSIONS
  const { load } = await import('../codegen/jsonata/load.js')
  return new Map([...texts].map((text): [string, Compiled] => [text, load(text)]))
}
