// The expressions of gateway.yaml: found, checked and compiled, before the file is linked. A file without any loads nothing.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import type { ModelConfig } from '../engine/snapshot/config.js'
import { type Expressions, NO_EXPRESSIONS } from '../engine/snapshot/expressions.js'
import type { Expression } from '../engine/snapshot/model.js'
import type { GatewayData } from '../schemas/config/types.js'

interface Place {
  pointer: Pointer
  text: string
}

function expressionsIn(models: GatewayData['models']): Place[] {
  return Object.entries(models).flatMap(([name, { targets, sticky }]) => [
    ...(sticky ? [{ pointer: ['models', name, 'sticky', 'by'] as Pointer, text: sticky.by }] : []),
    ...targets.flatMap(({ only }, index) =>
      only === undefined ? [] : [{ pointer: ['models', name, 'targets', index, 'only'] as Pointer, text: only }],
    ),
  ])
}

/** What is wrong with the expressions of a file. */
export async function expressionFindings(models: GatewayData['models'], document: YamlDocument): Promise<Finding[]> {
  const places = expressionsIn(models)
  if (places.length === 0) return []
  const { problemsIn } = await import('../codegen/compile/problems.js')
  return places.flatMap(({ pointer, text }) =>
    problemsIn(text, ['key', 'groups', 'headers', 'request']).map(({ rule, detail, remedy, offset }) => ({
      ...document.inside(pointer, offset),
      rule,
      detail,
      remedy,
    })),
  )
}

/** The expressions of a file in which nothing is wrong, compiled. */
export async function compileExpressions(models: Readonly<Record<string, ModelConfig>>): Promise<Expressions> {
  const texts = new Set<string>()
  for (const { targets, routing } of Object.values(models)) {
    for (const { only } of targets) if (only !== undefined) texts.add(only)
    if (routing?.sticky) texts.add(routing.sticky.by)
  }
  if (texts.size === 0) return NO_EXPRESSIONS
  const { load } = await import('../codegen/jsonata/load.js')
  return new Map([...texts].map((text): [string, Expression] => [text, load(text)]))
}
