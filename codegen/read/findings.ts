// What is wrong with the data, said so that it can be mended: where, which rule, what exactly, and what to do.

import { maskKeys } from '../../engine/upstream/redact.js'

export interface Finding {
  /** Path as the reader would type it. */
  file: string
  /** Both count from 1. */
  line: number
  column: number
  rule: string
  detail: string
  remedy: string
}

/** Findings as lines, in the order of files and places, each `file:line:col  rule  detail  what to do`. */
export function print(findings: readonly Finding[]): string {
  const lines = [...findings]
    .sort((left, right) => left.file.localeCompare(right.file) || left.line - right.line || left.column - right.column)
    .map(({ file, line, column, rule, detail, remedy }) => `${file}:${line}:${column}  ${rule}  ${detail}  ${remedy}`)
  // What several modules are made of is found wrong in each.
  return [...new Set(lines)].join('\n')
}

/** All that is wrong with some data, at once. */
export class DataError extends Error {
  readonly findings: readonly Finding[]
  constructor(found: readonly Finding[]) {
    // A key may have been written where something else belongs, and findings quote what is written.
    const findings = found.map(finding => ({ ...finding, detail: maskKeys(finding.detail), remedy: maskKeys(finding.remedy) }))
    super(print(findings))
    this.findings = findings
  }
}
