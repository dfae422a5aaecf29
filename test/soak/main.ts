// `npm run soak -- --minutes 30`. Exit codes: 0 all requirements hold, 1 one does not.

import { Command } from 'commander'
import { soak } from './soak.js'

const { minutes } = new Command('soak').option('--minutes <count>', 'how long', '30').parse().opts() as { minutes: string }
const { counts, capacity, rate, reloads, rss, findings } = await soak({ minutes: Number(minutes), say: console.log })
const refused = Object.entries(counts.refused)
  .map(([status, count]) => `${count} with ${status}`)
  .join(', ')
console.log(
  [
    `${counts.sent} requests, ${rate} a second of ${Math.round(capacity)}: ${counts.whole} whole, ${counts.broken} streams that told of a fault,`,
    `${refused || 'none'} refused, ${counts.aborted} given up; ${reloads} reloads.`,
    `Memory by thirds: ${rss.join(', ')} MiB.`,
    ...findings,
    findings.length === 0 ? 'passed' : `failed: ${findings.length} findings`,
  ].join('\n'),
)
process.exit(findings.length === 0 ? 0 : 1)
