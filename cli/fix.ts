// `sluice check --fix`: repairs certain errors. A word that is one letter away from the only possible one, and the name of
// a variable without its `$` in place of a secret.

import { isUtf8 } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { DataError, type Finding } from '../codegen/read/findings.js'
import { parseYaml } from '../codegen/read/yaml.js'
import { type CheckOptions, check, fileOf } from './check.js'
import { CommandError, type CommandResult, count } from './output.js'

interface Fix {
  file: string
  line: number
  column: number
  rule: string
  from: string
  to: string
}

/** A fix may uncover the next finding. */
const MOST_ROUNDS = 8
/** Rules whose remedy lists the known words. */
const LISTS = /^(?:grammar\/unknown-key|grammar\/value|names\/)/
const LIST = /use one of: (.*)$/

/**
 * Checks, repairs, and checks again; reports each change. Throws a DataError with the remaining findings, after the changes
 * are on stderr.
 */
export async function checkAndFix(path: string, options: CheckOptions): Promise<CommandResult> {
  const config = fileOf(path)
  const fixes: Fix[] = []
  for (let round = 0; ; round++) {
    const { result, findings, error } = await attempt(config, options)
    const applied = round < MOST_ROUNDS ? apply(findings.flatMap(finding => fixOf(finding, dirname(resolve(config))))) : []
    if (applied.length > 0) {
      fixes.push(...applied)
      continue
    }
    const lines = fixes.map(({ file, line, column, rule, from, to }) => `fixed  ${file}:${line}:${column}  ${rule}  ${from} → ${to}`)
    if (result === undefined) {
      if (lines.length > 0) console.error(lines.join('\n'))
      throw error
    }
    lines.push(result.text, `${count(fixes.length, 'fix').replace(/fixs$/, 'fixes')}`)
    return { ...result, json: { ...result.json, fixes }, text: lines.join('\n') }
  }
}

async function attempt(
  config: string,
  options: CheckOptions,
): Promise<{ result?: CommandResult; findings: readonly Finding[]; error?: DataError }> {
  try {
    const result = await check(config, options)
    return { result, findings: result.findings }
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    return { findings: error.findings, error }
  }
}

/** The fix of a finding in one of the operator's own files, if it is certain. */
function fixOf(finding: Finding, folder: string): Fix[] {
  const { file, line, column, rule, remedy } = finding
  if (!resolve(file).startsWith(folder + sep)) return []
  const text = readFileSync(file, 'utf8').split('\n')[line - 1] ?? ''
  const from = /^['"]?([\w.-]+)/.exec(text.slice(column - 1))?.[1]
  if (from === undefined) return []
  if (rule === 'secret/literal') {
    const isVariable = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(from) && Boolean(process.env[from])
    return isVariable ? [{ file, line, column, rule, from, to: `$${from}` }] : []
  }
  const known = LISTS.test(rule) ? LIST.exec(remedy)?.[1]?.split(', ') : undefined
  const near = known?.filter(word => isOneSlip(from, word)) ?? []
  return near.length === 1 ? [{ file, line, column, rule, from, to: near[0] as string }] : []
}

/** Whether one letter is added, missing, replaced, or swapped with its neighbour. */
export function isOneSlip(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1 || Math.min(one.length, other.length) < 3) return false
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const rest = (text: string, from: number): string => text.slice(at + from)
  return (
    rest(one, 1) === rest(other, 1) ||
    rest(one, 1) === rest(other, 0) ||
    rest(one, 0) === rest(other, 1) ||
    (one[at] === other[at + 1] && one[at + 1] === other[at] && rest(one, 2) === rest(other, 2))
  )
}

/** Applies fixes, and returns those that were applied: not one that makes a key that is there already, or of a file in another encoding. */
function apply(fixes: readonly Fix[]): Fix[] {
  return [...new Set(fixes.map(fix => fix.file))].flatMap(file => {
    const bytes = readFileSync(file)
    if (!isUtf8(bytes)) return []
    let text = bytes.toString('utf8')
    const here = new Map(fixes.filter(fix => fix.file === file).map(fix => [`${fix.line}:${fix.column}`, fix]))
    // From the end, so that earlier positions stay valid. Each position is changed once.
    const fromEnd = [...here.values()].sort((one, other) => other.line - one.line || other.column - one.column)
    const applied = fromEnd.filter(fix => {
      const next = fixed(text, fix)
      if (isBroken(file, next)) return false
      text = next
      return true
    })
    if (applied.length > 0) write(file, text)
    return applied
  })
}

function fixed(text: string, { line, column, from, to }: Fix): string {
  const lines = text.split('\n')
  const old = lines[line - 1] as string
  return lines.with(line - 1, old.slice(0, column - 1) + old.slice(column - 1).replace(from, () => to)).join('\n')
}

function isBroken(file: string, text: string): boolean {
  const findings: Finding[] = []
  parseYaml(file, text, findings)
  return findings.length > 0
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`)
  }
}
