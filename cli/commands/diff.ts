// `sluice diff OLD NEW`

import type { Command } from 'commander'
import { served } from '../platform.js'

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('compare two configurations: routes, accounts, targets, rights, prices, limits, fields')
    .argument('<old>', 'a gateway.yaml, or its folder')
    .argument('<new>', 'another one')
    .option('--json', 'print one JSON document')
    .action(async (old: string, now: string, options: { json?: boolean }) => {
      const [{ runCommand }, { diff }] = await Promise.all([import('../output.js'), served(import('../diff/diff.js'))])
      await runCommand(options, () => diff(old, now))
    })
}
