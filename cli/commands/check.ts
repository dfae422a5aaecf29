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
    .description('check a configuration and the folders beside it')
    .argument('[file]', 'the configuration, or its folder (default: gateway.yaml)')
    .option('--config <file>', 'the same')
    .option('--no-env', 'do not read secrets from the environment and files, for example in CI')
    .option('--online', 'also ask each upstream for its list of models: one call that costs nothing')
    .option('--store', 'also check that keys and teams in its store match the file')
    .option('--strict', 'fail on warnings')
    .option('--fix', 'fix certain errors: a word with one wrong letter, a variable without its $')
    .option('--json', 'print one JSON document')
    .action(async (file: string | undefined, options: Options) => {
      if (file !== undefined && options.config !== undefined) {
        const { UsageError } = await import('../output.js')
        throw new UsageError(`Name one configuration: ${file} or ${options.config}.`)
      }
      const path = options.config ?? file ?? 'gateway.yaml'
      const { runCommand } = await import('../output.js')
      const [{ check }, { checkAndFix }] = await Promise.all([served(import('../check.js')), served(import('../fix.js'))])
      await runCommand(options, () => (options.fix ? checkAndFix(path, options) : check(path, options)))
    })
}
