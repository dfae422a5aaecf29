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
    .description('print, or write, the few settings that make a coding agent talk to this gateway')
    .addArgument(new Argument('<agent>', 'the agent').choices(Object.keys(AGENTS)))
    .option('--url <address>', "the gateway's address (default: what gateway.yaml says, or http://127.0.0.1:8080)")
    .option('--model <name>', "a model's name (default: the first of gateway.yaml)")
    .option('--config <file>', "the operator's file (default: gateway.yaml, where it is there)")
    .option('--write', "write them into the agent's own files, beside what is there; the key stays in the environment")
    .option('--json', 'print one JSON document')
    .action(async (agent: string, options: Options) => {
      const [{ tell }, { use }] = await Promise.all([import('../told.js'), import('../use/use.js')])
      await tell(options, () => use(agent, options))
    })
}
