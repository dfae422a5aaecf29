// `sluice check [FILE]`

import type { Command } from 'commander'
import { served } from '../platform.js'

interface Options {
  config?: string
  /** False with --no-env. */
  env: boolean
  online?: boolean
  strict?: boolean
  json?: boolean
}

export function addCheck(program: Command): void {
  program
    .command('check')
    .description("check an operator's file and the folders beside it")
    .argument('[file]', "the operator's file, or its folder (default: gateway.yaml)")
    .option('--config <file>', 'the same')
    .option('--no-env', 'do not look for secrets in the environment and in files, as where none are: in CI')
    .option('--online', 'ask each upstream for its list of models, too: one call that costs nothing')
    .option('--strict', 'let warnings fail')
    .option('--json', 'print one JSON document')
    .action(async (file: string | undefined, options: Options) => {
      const [{ tell }, { check }] = await Promise.all([import('../told.js'), served(import('../check.js'))])
      await tell(options, () => check(options.config ?? file ?? 'gateway.yaml', options))
    })
}
