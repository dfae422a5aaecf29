// What every section of gateway.yaml is read with.

import type { Finding } from '../../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../../codegen/read/yaml.js'

/** Reports an error, or a warning, at a position of the file. */
export type Find = (pointer: Pointer, rule: string, detail: string, remedy: string) => void

/** Adds each error or warning of a file to `findings`. */
export function findIn(document: YamlDocument, findings: Finding[]): Find {
  return (pointer, rule, detail, remedy) => {
    findings.push({ ...document.at(pointer), rule, detail, remedy })
  }
}
