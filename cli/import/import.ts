// `sluice import`: converts another gateway's configuration to gateway.yaml, with a line for each of its settings.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dump, load } from 'js-yaml'
import { CommandError, type CommandResult, count, UsageError } from '../output.js'
import { builtIn } from '../project.js'
import { columns } from '../table.js'
import { readLitellm } from './litellm.js'
import { readNewApi } from './new-api.js'
import { readNewApiOptions } from './new-api-options.js'
import { Plan, type Verdict } from './plan.js'

export type Source = 'litellm' | 'new-api'

const VERDICTS: readonly Verdict[] = ['exact', 'approximate', 'by hand', 'unsupported']

/**
 * Writes the file, unless `out` is undefined; it contains no secret of the old file. Throws a UsageError if a file cannot
 * be read or written.
 */
export async function importGateway(source: Source, path: string, out: string | undefined, options?: string): Promise<CommandResult> {
  if (options !== undefined && source !== 'new-api') throw new UsageError('Only new-api keeps prices in a second file.')
  const plan = new Plan(builtIn())
  const read = { litellm: readLitellm, 'new-api': readNewApi }[source]
  read(parsed(path), plan)
  if (options !== undefined) readNewApiOptions(parsed(options), plan)
  if (plan.lines.length === 0) throw new UsageError(`${path} has no settings of ${source}.`)
  const yaml = `# Made by \`sluice import ${source}\`. \`sluice check\` finds errors; the command printed what needs manual work.\n${dump(plan.gateway, { lineWidth: 120, noRefs: true })}`
  if (out !== undefined) {
    if (existsSync(out)) throw new UsageError(`${out} exists already; nothing was written.`)
    try {
      writeFileSync(out, yaml, { flag: 'wx' })
    } catch (error) {
      throw new CommandError(`${out} cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'it fails'}.`)
    }
  }
  const lines = [...plan.lines].sort((one, other) => VERDICTS.indexOf(one.verdict) - VERDICTS.indexOf(other.verdict))
  const counts = VERDICTS.map(verdict => `${lines.filter(line => line.verdict === verdict).length} ${verdict}`).join(', ')
  const summary = `${count(lines.length, 'setting')}: ${counts}`
  const report = [columns(lines.map(({ verdict, path: at, why }) => [verdict, at, why])), '', summary].join('\n')
  return {
    json: { lines, ...(out !== undefined && { file: out }), gateway: plan.gateway },
    text: out === undefined ? yaml + commented(report) : report,
    findings: [],
  }
}

/** Lines as comments of YAML, so that what is printed is a file as it is. */
function commented(text: string): string {
  return text
    .split('\n')
    .map(line => `# ${line}`.trimEnd())
    .join('\n')
}

function parsed(path: string): unknown {
  try {
    return load(readFileSync(path, 'utf8'))
  } catch {
    throw new UsageError(`${path} cannot be read as YAML or JSON.`)
  }
}
