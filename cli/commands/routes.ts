// `sluice routes [FOLDER]`

import type { Command } from 'commander'

export function addRoutes(program: Command): void {
  program
    .command('routes')
    .description('list the routes, and how many providers serve each')
    .argument('[folder]', 'the folder of gateway.yaml', '.')
    .option('--json', 'print one JSON document, with how each provider serves each route')
    .action(async (folder: string, options: { json?: boolean }) => {
      const [{ runCommand }, { showRoutes }] = await Promise.all([import('../output.js'), import('../show/routes.js')])
      await runCommand(options, () => showRoutes(folder))
    })
}
