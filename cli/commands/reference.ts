// `sluice reference`: for the page of docs/reference; it stands in no help.

import type { Command } from 'commander'

export function addReference(program: Command): void {
  program.command('reference', { hidden: true }).action(async () => {
    const { printCliReference } = await import('../show/reference.js')
    process.stdout.write(printCliReference(program))
  })
}
