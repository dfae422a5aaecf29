// Prints docs/rules: a page for each rule that a finding can name.

import { RULES, type Rule } from '../read/rules.js'

const MADE = 'Made from `codegen/read/rules.ts` by `npm run codegen`; `npm test` checks that it is fresh.'

/** The text of each page of docs/rules, by path in that folder. */
export function printRules(rules: readonly Rule[] = RULES): Map<string, string> {
  const pages = new Map<string, string>()
  const index = [
    '# Rules',
    '',
    MADE,
    '',
    'Every finding of `sluice check`, `sluice test` and `npm run codegen` names its rule: `file:line:col  rule  detail  remedy`. With warnings only, a file is still served.',
    '',
    '| id | rule |',
    '|---|---|',
  ]
  for (const rule of rules) {
    const path = `${rule.id}.md`
    index.push(`| [${rule.id}](${path})${rule.severity === 'warning' ? ' (warning)' : ''} | ${rule.sentence.replaceAll('|', '\\|')} |`)
    pages.set(path, printRule(rule))
  }
  pages.set('README.md', `${index.join('\n')}\n`)
  return pages
}

function printRule({ id, severity, sentence, example, cure }: Rule): string {
  return `# ${id}\n\n${sentence}${severity === 'warning' ? ' This is a warning: the file is still served.' : ''}\n\nViolation:\n\n\`\`\`text\n${example}\n\`\`\`\n\nRemedy: ${cure}\n`
}
