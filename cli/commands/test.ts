// `sluice test [FOLDER]`

import type { Command } from 'commander'

export function addTest(program: Command): void {
  program
    .command('test')
    .description('run the cases of the mappings in a folder, compiled and by the interpreter')
    .argument('[folder]', 'the folder of gateway.yaml, or of routes, schemas, mappings and providers', '.')
    .option('--all', 'run the built-in cases, too')
    .option('--mapping <names...>', 'run only mappings whose name holds one of these')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: { all?: boolean; mapping?: string[]; json?: boolean }) => {
      const [{ tell }, { testFolder }] = await Promise.all([import('../told.js'), import('../cases/test.js')])
      await tell(options, () => testFolder(folder, options))
    })
}
