// The output of commands: for a person on a terminal, or as one JSON document on stdout. Findings for a person go to
// stderr.

import { DataError, type Finding, print } from '../codegen/read/findings.js'
import { isWarning } from '../codegen/read/rules.js'
import { EXIT } from './exit-codes.js'

/** A wrong command line: reported in one sentence, exit code 64. */
export class UsageError extends Error {}

/** Another reason why a command failed: reported in one sentence, exit code 1. */
export class CommandError extends Error {}

/**
 * Reports why a command failed: on stderr, and for a program also as the document that it expects on stdout. Returns the
 * exit code. Anything else is an error of ours, and is thrown.
 */
export function reportFailure(error: unknown, asJson: boolean): number {
  const isUsage = error instanceof UsageError
  if (!isUsage && !(error instanceof CommandError) && !(error instanceof DataError)) throw error
  if (error instanceof DataError) {
    if (asJson) console.log(documentOf(false, error.findings, {}))
    // A message has a line for each finding.
    else console.error(error.message)
  } else {
    console.error(error.message)
    if (asJson) console.log(documentOf(false, [], { error: error.message }))
  }
  return isUsage ? EXIT.usage : EXIT.findings
}

/** The document that a command prints for a program. */
export function documentOf(ok: boolean, findings: readonly Finding[], more: Record<string, unknown>): string {
  const shown = findings.map(finding => ({ severity: isWarning(finding.rule) ? 'warning' : 'error', ...finding }))
  return JSON.stringify({ ok, findings: shown, ...more }, null, 2)
}

export interface CommandResult {
  /** Members of the JSON document beside `ok` and `findings`. */
  json: Record<string, unknown>
  /** The text on stdout if there is no error; may be empty. */
  text: string
  findings: readonly Finding[]
  /** The command ends with 1 although it found no error: what it was asked about is refused. */
  isBad?: boolean
}

/**
 * Runs a command and prints its result, or the findings that it threw. Sets the exit code: 1 if a finding is an error, and
 * with `isStrict` if it is a warning.
 */
export async function runCommand(options: { json?: boolean; strict?: boolean }, run: () => Promise<CommandResult>): Promise<void> {
  let result: CommandResult
  try {
    result = await run()
  } catch (error) {
    if (!(error instanceof DataError)) {
      process.exitCode = reportFailure(error, options.json === true)
      return
    }
    result = { json: {}, text: '', findings: error.findings }
  }
  // A DataError masks the keys in the quotes of findings.
  const findings = inOrder(new DataError(result.findings).findings)
  const isBad = result.isBad === true || findings.some(({ rule }) => options.strict === true || !isWarning(rule))
  if (isBad) process.exitCode = EXIT.findings
  if (options.json) {
    console.log(documentOf(!isBad, findings, result.json))
    return
  }
  if (findings.length > 0) console.error(colored(findings))
  if (result.text !== '') console.log(result.text)
}

/** Sorts by file and position, and removes duplicates: a source that several modules use is reported for each. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const once = new Map(findings.map(finding => [JSON.stringify(finding), finding]))
  return [...once.values()].sort(
    (left, right) => left.file.localeCompare(right.file) || left.line - right.line || left.column - right.column,
  )
}

/** Findings as lines; on a terminal, errors are red and warnings are yellow. */
function colored(findings: readonly Finding[]): string {
  const text = print(findings)
  if (!process.stderr.isTTY || process.env.NO_COLOR) return text
  return text.replaceAll(/^(\S+) {2}(\S+)/gm, (_, place: string, rule: string) => {
    return `\u001b[2m${place}\u001b[0m  \u001b[${isWarning(rule) ? 33 : 31}m${rule}\u001b[0m`
  })
}

/** `1 case`, `2 cases`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
