// `sluice new KIND NAME`

import { Argument, type Command } from 'commander'

type Kind = 'endpoint' | 'provider' | 'dialect' | 'mapping'

export function addNew(program: Command): void {
  program
    .command('new')
    .description('write skeleton files, which pass check and test unchanged')
    .addArgument(new Argument('<kind>', 'what').choices(['endpoint', 'provider', 'dialect', 'mapping']))
    .argument('<name>', 'the name; for a mapping <client>-to-<upstream>')
    .option('--folder <folder>', 'the folder of gateway.yaml', '.')
    .option('--json', 'print one JSON document')
    .action(async (kind: Kind, name: string, options: { folder: string; json?: boolean }) => {
      const [{ runCommand }, { make }] = await Promise.all([import('../output.js'), import('../new/new.js')])
      await runCommand(options, () => make(kind, name, options.folder))
    })
}
