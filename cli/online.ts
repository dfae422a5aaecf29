// `sluice check --online`: asks each upstream once for its list of models. That costs nothing, and tests host, certificate,
// base and secret.

import type { Finding } from '../codegen/read/findings.js'
import { readProject } from '../codegen/read/project.js'
import type { SourcePosition, YamlDocument } from '../codegen/read/yaml.js'
import { askModels } from './account.js'
import type { Prepared } from './prepare.js'

export interface Asked {
  upstream: string
  /** The result: `good`, a rule, or why the upstream was skipped. */
  result: string
  /** The number of models that it lists, if known. */
  models?: number
}

/** Asks all upstreams in parallel. `roots` are those of the data; `document` is the configuration. */
export async function askUpstreams(
  prepared: Prepared,
  document: YamlDocument,
  roots: readonly string[],
): Promise<{ findings: Finding[]; asked: Asked[] }> {
  const { providers } = readProject(roots)
  const findings: Finding[] = []
  const asked = await Promise.all(
    [...prepared.snapshot.accounts].map(async ([name, target]): Promise<Asked> => {
      const path = providers.get(target.provider.name)?.data.models_path
      if (path === undefined) return { upstream: name, result: 'skipped: its provider has no list of models' }
      if (target.isCallers) return { upstream: name, result: 'skipped: its callers send their own credentials' }
      const given = prepared.gateway.upstreams[name]?.base ?? target.provider.base ?? ''
      const answer = await askModels(target, new URL(given), path)
      const position = positionOf(document, name)
      if ('rule' in answer) {
        findings.push({ ...position, rule: answer.rule, detail: `${name}: ${answer.detail}`, remedy: answer.remedy })
        return { upstream: name, result: answer.rule }
      }
      if (answer.isPart) return { upstream: name, result: 'good' }
      findings.push(...unlisted(name, new Set(answer.names), prepared, document))
      return { upstream: name, result: 'good', models: answer.names.length }
    }),
  )
  return { findings, asked }
}

/** The configured models that an upstream does not list. */
function unlisted(upstream: string, models: ReadonlySet<string>, { gateway }: Prepared, document: YamlDocument): Finding[] {
  if (models.size === 0) return []
  return Object.entries(gateway.models).flatMap(([name, { targets }]) =>
    targets.flatMap((target, index) => {
      const asked = (target.model ?? name).replace(/^models\//, '')
      if (target.upstream !== upstream || models.has(asked)) return []
      return [
        {
          ...document.at(['models', name, 'targets', index]),
          rule: 'online/model',
          detail: `${upstream} lists no model ${asked}`,
          remedy: 'correct the name',
        },
      ]
    }),
  )
}

function positionOf(document: YamlDocument, upstream: string): SourcePosition {
  return document.key(['upstreams', upstream])
}
