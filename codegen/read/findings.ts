// Errors in the data, with everything needed to repair them: the position, the rule, the detail, and the remedy.

import { maskKeys } from '../../engine/upstream/redact.js'

export interface Finding {
  /** The path as the reader would type it. */
  file: string
  /** Both begin at 1. */
  line: number
  column: number
  rule: string
  detail: string
  remedy: string
}

/** Findings as lines, by file and position, each `file:line:col rule detail remedy`. */
export function print(findings: readonly Finding[]): string {
  const lines = [...findings]
    .sort((left, right) => left.file.localeCompare(right.file) || left.line - right.line || left.column - right.column)
    .map(({ file, line, column, rule, detail, remedy }) => `${file}:${line}:${column}  ${rule}  ${detail}  ${remedy}`)
  // A source that several modules use is reported once for each.
  return [...new Set(lines)].join('\n')
}

/** Carries all findings about some data. */
export class DataError extends Error {
  readonly findings: readonly Finding[]
  constructor(found: readonly Finding[]) {
    // A key may have been pasted elsewhere in the file, and findings quote the file.
    const findings = found.map(finding => ({ ...finding, detail: maskKeys(finding.detail), remedy: maskKeys(finding.remedy) }))
    super(print(findings))
    this.findings = findings
  }
}
