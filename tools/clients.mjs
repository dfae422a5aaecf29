/**
 * The official SDKs of other languages against the gateway and its simulator. Not a part of `npm test`, which needs only Node.
 *
 *   npm run clients                       every language
 *   npm run clients -- python go          these
 *   npm run clients -- go --only 'CRLF'   cases whose name contains this (may be repeated: all must match)
 *   npm run clients -- java --list        the cases, without running them
 *
 * clients/cases.yaml has the requests and the expected results; each language only executes them with its SDKs.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)
const setup = spawnSync(process.execPath, ['tools/setup.mjs'], { stdio: ['ignore', 2, 2] })
if (setup.status !== 0) process.exit(setup.status ?? 1)

const { LANGUAGES } = await import('./clients/languages.mjs')
const { idleMarks, jobsFor } = await import('./clients/jobs.mjs')
const { startStage } = await import('./clients/stage.mjs')
const { runLanguage } = await import('./clients/run.mjs')
const { report } = await import('./clients/report.mjs')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', multiple: true, default: [] }, list: { type: 'boolean', default: false } },
})
const unknown = positionals.filter(name => !(name in LANGUAGES))
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}; the languages are ${Object.keys(LANGUAGES).join(', ')}.`)
  process.exit(1)
}

for (const mark of idleMarks(Object.keys(LANGUAGES))) console.log(`known.yaml: no case has the name ${mark}; remove the mark`)

let isGood = true
for (const name of positionals.length > 0 ? positionals : Object.keys(LANGUAGES)) {
  const jobs = jobsFor(name).filter(job => values.only.every(piece => job.name.includes(piece)))
  if (values.list) {
    for (const job of jobs) console.log(`${name} ${job.name}`)
    continue
  }
  if (jobs.length === 0) {
    console.log(`\n${name}: **not run**: no case has such a name`)
    isGood = false
    continue
  }
  const language = LANGUAGES[name]
  const { program, missing } = language.prepare(name)
  if (missing !== undefined) {
    console.log(`\n${name}: **not run**: ${missing}`)
    isGood = false
    continue
  }
  const stage = await startStage(jobs)
  try {
    isGood = report(name, await runLanguage(program, jobs, stage)) && isGood
  } finally {
    await stage.close()
  }
}
process.exit(isGood ? 0 : 1)
