// `sluice check [FILE]`

import type { Command } from 'commander'
import { served } from '../platform.js'

interface Options {
  config?: string
  /** False with --no-env. */
  env: boolean
  online?: boolean
  store?: boolean
  strict?: boolean
  fix?: boolean
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
    .option('--store', 'look at keys and teams in its store, too: whether they go with the file')
    .option('--strict', 'let warnings fail')
    .option('--fix', 'mend what is certain: a word that is one letter off, a variable without its $')
    .option('--json', 'print one JSON document')
    .action(async (file: string | undefined, options: Options) => {
      const path = options.config ?? file ?? 'gateway.yaml'
      const { tell } = await import('../told.js')
      const [{ check }, { checkAndFix }] = await Promise.all([served(import('../check.js')), served(import('../fix.js'))])
      await tell(options, () => (options.fix ? checkAndFix(path, options) : check(path, options)))
    })
}
