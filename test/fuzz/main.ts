// `npm run fuzz:http -- --minutes 10`. `--seed` draws other inputs, `--case` runs one of them again. Exit codes: 0 all
// requirements hold, 1 one does not.

import { Command } from 'commander'
import { fuzz } from './fuzz.js'

const options = new Command('fuzz:http')
  .option('--minutes <count>', 'how long', '10')
  .option('--seed <number>', 'what is drawn', '1')
  .option('--case <number>', 'one case alone')
  .parse()
  .opts() as { minutes: string; seed: string; case?: string }
const { cases, statuses, findings } = await fuzz({
  minutes: Number(options.minutes),
  seed: Number(options.seed),
  ...(options.case !== undefined && { only: Number(options.case) }),
})
const list = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
console.log(
  [
    `Cases: ${list(cases)}.`,
    `Statuses (0 is a connection that was closed without one): ${list(statuses)}.`,
    ...findings,
    findings.length === 0 ? 'passed' : `failed: ${findings.length} findings`,
  ].join('\n'),
)
process.exit(findings.length === 0 ? 0 : 1)
