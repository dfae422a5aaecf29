// `sluice import SOURCE FILE`

import { Argument, type Command } from 'commander'

export function addImport(program: Command): void {
  program
    .command('import')
    .description("convert another gateway's configuration to gateway.yaml, with a line about each setting")
    .addArgument(new Argument('<source>', 'whose').choices(['litellm', 'new-api']))
    .argument('<file>', "LiteLLM's config.yaml, or the channels of new-api as JSON")
    .option('--prices <file>', 'the options of new-api as JSON, with prices and multipliers of groups')
    .option('--out <file>', 'the file to write, which must not exist (default: print it)')
    .option('--json', 'print one JSON document')
    .action(async (source: 'litellm' | 'new-api', file: string, options: { out?: string; prices?: string; json?: boolean }) => {
      const [{ runCommand }, { importGateway }] = await Promise.all([import('../output.js'), import('../import/import.js')])
      await runCommand(options, () => importGateway(source, file, options.out, options.prices))
    })
}
