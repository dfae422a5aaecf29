// `sluice init [FOLDER]`

import type { Command } from 'commander'

export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a first gateway.yaml, and print the key to call with')
    .argument('[folder]', 'where', '.')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: { json?: boolean }) => {
      const [{ tell }, { init }] = await Promise.all([import('../told.js'), import('../new/new.js')])
      await tell(options, () => init(folder))
    })
}
