// `sluice use AGENT`

import { Argument, type Command } from 'commander'
import { AGENTS } from '../use/agents.js'

interface Options {
  url?: string
  model?: string
  config?: string
  write?: boolean
  json?: boolean
}

export function addUse(program: Command): void {
  program
    .command('use')
    .description('print, or write, the settings of a coding agent that uses this gateway')
    .addArgument(new Argument('<agent>', 'the agent').choices(Object.keys(AGENTS)))
    .option('--url <address>', "the gateway's address (default: from gateway.yaml, or http://127.0.0.1:8080)")
    .option('--model <name>', "a model's name (default: the first in gateway.yaml)")
    .option('--config <file>', 'the configuration (default: gateway.yaml if it exists)')
    .option('--write', "merge them into the agent's own files; the key stays in the environment")
    .option('--json', 'print one JSON document')
    .action(async (agent: string, options: Options) => {
      const [{ runCommand }, { use }] = await Promise.all([import('../output.js'), import('../use/use.js')])
      await runCommand(options, () => use(agent, options))
    })
}
