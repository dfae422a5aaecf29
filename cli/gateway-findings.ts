// Reports the errors of a configuration: loaded only if there are any, because it needs the full validator.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Finding } from '../codegen/read/findings.js'
import { checkGrammar } from '../codegen/read/grammar.js'
import type { Schema } from '../codegen/read/schemas.js'
import { parseYaml, type YamlDocument } from '../codegen/read/yaml.js'
import { HOME } from './home.js'

let grammars: ReadonlyMap<string, Schema> | undefined

function readGrammars(): ReadonlyMap<string, Schema> {
  const folder = join(HOME, 'schemas', 'config')
  const schemas = new Map<string, Schema>()
  for (const file of readdirSync(folder).filter(name => name.endsWith('.yaml'))) {
    const [schema] = parseYaml(file, readFileSync(join(folder, file), 'utf8'), [])
    if (schema) schemas.set(basename(file, '.yaml'), schema.value as Schema)
  }
  return schemas
}

export function gatewayFindings(document: YamlDocument): Finding[] {
  const findings: Finding[] = []
  grammars ??= readGrammars()
  checkGrammar({ configSchemas: grammars, findings }, 'gateway', { ...document, value: document.value ?? {} })
  return findings
}
