// `sluice completion bash|zsh|fish`

import { Argument, type Command } from 'commander'

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      '\nbash: source <(sluice completion bash)\nzsh:  source <(sluice completion zsh)\nfish: sluice completion fish | source',
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionFor } = await import('../show/completion.js')
      console.log(completionFor(program, shell))
    })
}
