// Reports the errors of a configuration by its grammar: loaded only if there are any, because it needs the full validator.

import type { Finding } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import { type Rest, restOf } from '../../codegen/read/rest-of.js'
import { valueAt, type YamlDocument } from '../../codegen/read/yaml.js'
import { specsOf } from '../specs.js'
import type { Find } from './find.js'

const NAME = 'gateway'

/** The errors in a document. */
export function gatewayFindings(document: YamlDocument): Finding[] {
  const findings: Finding[] = []
  checkGrammar({ configSchemas: specsOf(NAME), findings }, NAME, { ...document, value: document.value ?? {} })
  return findings
}

/** What is left of a document without its errors. */
export function restOfGateway(document: YamlDocument): Rest {
  return restOf({ configSchemas: specsOf(NAME), findings: [] }, NAME, document)
}

/** Reports an error in the rest of a document, unless what was left out explains it. */
export function findInRest(find: Find, rest: Rest): Find {
  const { without } = rest
  const names = new Set(without.flat().map(String))
  return (pointer, rule, detail, remedy) => {
    const inFile = rest.written(pointer)
    const isAround = without.some(one => inFile.every((part, index) => one[index] === part))
    const isNamed = names.has(String(valueAt(rest.value, pointer)))
    const isOfStore = rule.endsWith('/store') && names.has('store')
    if (!isAround && !isNamed && !isOfStore) find(pointer, rule, detail, remedy)
  }
}
