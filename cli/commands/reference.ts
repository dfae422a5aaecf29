// `sluice reference`: prints the page for docs/reference; help does not list it.

import type { Command } from 'commander'

export function addReference(program: Command): void {
  program.command('reference', { hidden: true }).action(async () => {
    const { printCliReference } = await import('../show/reference.js')
    process.stdout.write(printCliReference(program))
  })
}
