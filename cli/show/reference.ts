// docs/reference/cli.md: the help of every command, as commander prints it.

import type { Command } from 'commander'
import { EXIT_CODES } from '../exit-codes.js'

/** A fixed width, so that the page is the same on every terminal. */
const WIDTH = 100

/** The text of the page. */
export function printCliReference(program: Command): string {
  const lines = [
    '# The command line',
    '',
    'Made from the commands themselves by `npm run codegen`; `npm test` checks that it is fresh.',
    '',
    'Findings go to stderr, a line each: `file:line:col  rule  detail  remedy`; each [rule](../rules/README.md) has a page. With `--json` everything is one document on stdout: `ok`, `findings` (each with `severity`), and what the command gives beside; `error` if it failed for another reason, which stderr has, too. Colour is used on a terminal only, and not where `NO_COLOR` is set.',
    '',
    '| exit code | meaning |',
    '|---|---|',
    ...EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |`),
    '',
    '## sluice',
    '',
    '```text',
    helpOf(program),
    '```',
  ]
  const visit = (command: Command, path: string): void => {
    for (const one of command.createHelp().visibleCommands(command)) {
      if (one.name() === 'help') continue
      const name = `${path} ${one.name()}`
      lines.push('', `## ${name}`, '', '```text', helpOf(one), '```')
      visit(one, name)
    }
  }
  visit(program, 'sluice')
  return `${lines.join('\n')}\n`
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: part => (text += part), getOutHelpWidth: () => WIDTH, getOutHasColors: () => false })
  command.outputHelp()
  return text.trimEnd()
}
