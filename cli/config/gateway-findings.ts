// Reports the errors of a configuration by its grammar: loaded only if there are any, because it needs the full validator.

import type { Finding } from '../../codegen/read/findings.js'
import { checkGrammar, wrongPlaces } from '../../codegen/read/grammar.js'
import type { Pointer, YamlDocument } from '../../codegen/read/yaml.js'
import { specsOf } from '../specs.js'
import type { Find } from './find.js'

const NAME = 'gateway'

/** The errors in a document. */
export function gatewayFindings(document: YamlDocument): Finding[] {
  const findings: Finding[] = []
  checkGrammar({ configSchemas: specsOf(NAME), findings }, NAME, { ...document, value: document.value ?? {} })
  return findings
}

/** What is left of a document without its errors, so that the rest of it can be checked, too. */
export interface Rest {
  value: unknown
  /** The paths that were left out. */
  without: readonly Pointer[]
}

/** Leaving out a key may leave a required one missing, so that what holds it is left out next. */
const MOST_ROUNDS = 8

export function restOf(document: YamlDocument): Rest {
  let value = structuredClone(document.value ?? {})
  const without: Pointer[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const wrong = wrongPlaces({ configSchemas: specsOf(NAME), findings: [] }, NAME, { ...document, value }).map(pointer =>
      ownPlace(pointer, value),
    )
    if (wrong.length === 0) return { value, without }
    without.push(...wrong)
    if (wrong.some(pointer => pointer.length === 0)) break
    for (const pointer of wrong) leaveOut(value, pointer)
  }
  value = {}
  return { value, without: [...without, []] }
}

/** An item of a list is left out with the list, because the indices of the others would change. */
function ownPlace(pointer: Pointer, value: unknown): Pointer {
  const holder = valueAt(value, pointer.slice(0, -1))
  return Array.isArray(holder) ? pointer.slice(0, -1) : pointer
}

function leaveOut(value: unknown, pointer: Pointer): void {
  const holder = valueAt(value, pointer.slice(0, -1))
  if (typeof holder === 'object' && holder !== null) delete (holder as Record<string, unknown>)[String(pointer.at(-1))]
}

function valueAt(value: unknown, pointer: Pointer): unknown {
  return pointer.reduce((current, part) => Object(current)[part], value)
}

/** Reports an error in the rest of a document, unless what was left out explains it. */
export function findInRest(find: Find, document: YamlDocument, { without }: Rest): Find {
  const names = new Set(without.flat().map(String))
  return (pointer, rule, detail, remedy) => {
    const isAround = without.some(one => pointer.every((part, index) => one[index] === part))
    const isNamed = names.has(String(valueAt(document.value, pointer)))
    const isOfStore = rule.endsWith('/store') && names.has('store')
    if (!isAround && !isNamed && !isOfStore) find(pointer, rule, detail, remedy)
  }
}
