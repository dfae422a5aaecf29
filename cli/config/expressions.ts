// Finds, checks and compiles the expressions of gateway.yaml before the file is linked. A file without expressions loads
// nothing.

import type { Finding } from '../../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../../codegen/read/yaml.js'
import type { GatewayConfig, ModelConfig } from '../../engine/snapshot/config.js'
import { type Compiled, type Expressions, NO_EXPRESSIONS } from '../../engine/snapshot/expressions.js'
import type { GatewayData } from '../../schemas/config/types.js'

interface FoundExpression {
  pointer: Pointer
  text: string
  /** The names that it sees; undefined: any field of a provider's request, and `$ctx`. */
  sees?: readonly string[]
}

const OF_REQUESTS = ['key', 'groups', 'headers', 'request']
const OF_CALLS = [...OF_REQUESTS, 'route', 'method', 'path', 'query', 'model', 'answer']

function expressionsIn({ models, call }: GatewayData): FoundExpression[] {
  const sees = OF_REQUESTS
  const ofModels = Object.entries(models).flatMap(([name, { targets, sticky, patch }]): FoundExpression[] => [
    ...(sticky ? [{ pointer: ['models', name, 'sticky', 'by'], text: sticky.by, sees }] : []),
    ...patchesIn(patch, ['models', name, 'patch']),
    ...targets.flatMap((target, index): FoundExpression[] => [
      ...(target.only === undefined ? [] : [{ pointer: ['models', name, 'targets', index, 'only'], text: target.only, sees }]),
      ...patchesIn(target.patch, ['models', name, 'targets', index, 'patch']),
    ]),
  ])
  return [
    ...ofModels,
    ...Object.entries(call).map(([name, { send }]): FoundExpression => ({ pointer: ['call', name, 'send'], text: send, sees: OF_CALLS })),
  ]
}

function patchesIn(patch: ModelConfig['patch'], pointer: Pointer): FoundExpression[] {
  if (patch === undefined) return []
  if (typeof patch === 'string') return [{ pointer, text: patch }]
  return Object.entries(patch).map(([dialect, text]) => ({ pointer: [...pointer, dialect], text }))
}

/** The errors in the expressions of a file. */
export async function expressionFindings(file: GatewayData, document: YamlDocument): Promise<Finding[]> {
  const expressions = expressionsIn(file)
  if (expressions.length === 0) return []
  const { problemsIn } = await import('../../codegen/compile/problems.js')
  return expressions.flatMap(({ pointer, text, sees }) =>
    problemsIn(text, sees, sees ? [] : ['ctx']).map(({ rule, detail, remedy, offset }) => ({
      ...document.inside(pointer, offset),
      rule,
      detail,
      remedy,
    })),
  )
}

/** Compiles the expressions of a valid file. */
export async function compileExpressions({ models, calls }: Pick<GatewayConfig, 'models' | 'calls'>): Promise<Expressions> {
  const texts = new Set<string>()
  for (const { targets, routing, patch } of Object.values(models)) {
    for (const { only } of targets) if (only !== undefined) texts.add(only)
    for (const said of [patch, ...targets.map(target => target.patch)]) for (const { text } of patchesIn(said, [])) texts.add(text)
    if (routing?.sticky) texts.add(routing.sticky.by)
  }
  for (const { send } of Object.values(calls ?? {})) texts.add(send)
  if (texts.size === 0) return NO_EXPRESSIONS
  const { load } = await import('../../codegen/jsonata/load.js')
  return new Map([...texts].map((text): [string, Compiled] => [text, load(text)]))
}
