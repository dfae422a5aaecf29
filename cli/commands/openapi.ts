// `sluice openapi [FOLDER]`

import type { Command } from 'commander'

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('print the routes as an OpenAPI 3.1 document; a gateway serves it at /openapi.json')
    .argument('[folder]', 'the folder of gateway.yaml', '.')
    .option('--json', 'print one JSON document, with the OpenAPI document as its member `document`')
    .action(async (folder: string, options: { json?: boolean }) => {
      const [{ runCommand }, { showOpenapi }] = await Promise.all([import('../output.js'), import('../show/openapi.js')])
      await runCommand(options, () => showOpenapi(folder))
    })
}
