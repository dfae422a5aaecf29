// Reports the errors of a configuration: loaded only if there are any, because it needs the full validator.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { Finding } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import type { Schema } from '../../codegen/read/schemas.js'
import type { YamlDocument } from '../../codegen/read/yaml.js'
import { HOME } from '../home.js'

const NAME = 'gateway'
let grammars: ReadonlyMap<string, Schema> | undefined

function readGrammar(): ReadonlyMap<string, Schema> {
  return new Map([[NAME, load(readFileSync(join(HOME, 'schemas', 'config', `${NAME}.yaml`), 'utf8')) as Schema]])
}

export function gatewayFindings(document: YamlDocument): Finding[] {
  const findings: Finding[] = []
  grammars ??= readGrammar()
  checkGrammar({ configSchemas: grammars, findings }, NAME, { ...document, value: document.value ?? {} })
  return findings
}
