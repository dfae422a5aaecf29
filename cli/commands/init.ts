// `sluice init [FOLDER]`

import type { Command } from 'commander'

export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a first gateway.yaml, and print the key to call with')
    .argument('[folder]', 'where', '.')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: { json?: boolean }) => {
      const [{ runCommand }, { init }] = await Promise.all([import('../output.js'), import('../new/new.js')])
      await runCommand(options, () => init(folder))
    })
}
