// `sluice explain < request`

import type { Command } from 'commander'
import type { ExplainOptions } from '../explain/explain.js'
import { served } from '../platform.js'

export function addExplain(program: Command): void {
  program
    .command('explain')
    .description("tell what becomes of a client's request: route, key, targets, each transform, limits, what is lost; nothing is sent")
    .option('--config <file>', "the operator's file, or its folder", 'gateway.yaml')
    .option('--curl <command>', 'the request as a curl command')
    .option('--input <file>', 'the request as a message of HTTP, or its body alone; - is stdin', '-')
    .option('--path <path>', 'where a body goes that comes alone, such as /v1/chat/completions')
    .option('--method <method>', 'the method of a body that comes alone (default: POST)')
    .option('--key <name>', 'the name of a key of the file, in place of one in the request')
    .option('--json', 'print one JSON document')
    .action(async (options: ExplainOptions & { json?: boolean }) => {
      const [{ tell }, { explain }] = await Promise.all([import('../told.js'), served(import('../explain/explain.js'))])
      await tell(options, () => explain(options))
    })
}
