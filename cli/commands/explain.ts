// `sluice explain < request`

import type { Command } from 'commander'
import type { ExplainOptions } from '../explain/explain.js'
import { served } from '../platform.js'

export function addExplain(program: Command): void {
  program
    .command('explain')
    .description("show how a client's request would be handled: route, key, targets, transforms, limits, lost fields; nothing is sent")
    .option('--config <file>', 'the configuration, or its folder', 'gateway.yaml')
    .option('--curl <command>', 'the request as a curl command')
    .option('--input <file>', 'the request as an HTTP message, or only its body; - is stdin', '-')
    .option('--path <path>', 'the path for a request given as a body only, such as /v1/chat/completions')
    .option('--method <method>', 'the method for a request given as a body only (default: POST)')
    .option('--key <name>', 'the name of a configured key, in place of one in the request')
    .option('--json', 'print one JSON document')
    .action(async (options: ExplainOptions & { json?: boolean }) => {
      const [{ runCommand }, { explain }] = await Promise.all([import('../output.js'), served(import('../explain/explain.js'))])
      await runCommand(options, () => explain(options))
    })
}
