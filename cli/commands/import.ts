// `sluice import SOURCE FILE`

import { Argument, type Command } from 'commander'

export function addImport(program: Command): void {
  program
    .command('import')
    .description("turn another gateway's configuration into a gateway.yaml; a line for each setting tells how well it is said")
    .addArgument(new Argument('<source>', 'whose').choices(['litellm', 'new-api']))
    .argument('<file>', "LiteLLM's config.yaml, or the channels of new-api as JSON")
    .option('--out <file>', 'where the file is written, which must not be there yet (default: it is printed)')
    .option('--json', 'print one JSON document')
    .action(async (source: 'litellm' | 'new-api', file: string, options: { out?: string; json?: boolean }) => {
      const [{ tell }, { importGateway }] = await Promise.all([import('../told.js'), import('../import/import.js')])
      await tell(options, () => importGateway(source, file, options.out))
    })
}
