// `sluice fields CLIENT UPSTREAM`

import type { Command } from 'commander'

export function addFields(program: Command): void {
  program
    .command('fields')
    .description("show the fate of each field of a client's request for a provider of another dialect")
    .argument('<client>', "the client's dialect, such as chat")
    .argument('<upstream>', "the provider's dialect, such as messages")
    .option('--folder <folder>', 'the folder of gateway.yaml', '.')
    .option('--json', 'print one JSON document')
    .action(async (client: string, upstream: string, options: { folder: string; json?: boolean }) => {
      const [{ runCommand }, { showFields }] = await Promise.all([import('../output.js'), import('../show/fields.js')])
      await runCommand(options, () => showFields(options.folder, client, upstream))
    })
}
