/** Runs a language's program over the jobs: they go in as JSON, a line of JSON for each comes out, and is judged. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { judge } from './judge.mjs'

/** A program without output for this time is stuck. Milliseconds. */
const PATIENCE = 60_000

/**
 * @param {{ command: string, args: string[] }} program
 * @param {import('./jobs.mjs').Job[]} jobs
 * @returns {Promise<{ job: import('./jobs.mjs').Job, wrong: string[], skipped?: string }[]>}
 */
export async function runLanguage(program, jobs, stage) {
  const child = spawn(program.command, program.args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...plain(process.env), BASE_URL: stage.url },
  })
  const ended = new Promise(resolve => {
    child.on('error', error => resolve(String(error)))
    child.on('exit', (code, signal) => resolve(`its program ended with ${signal ?? code}`))
  })
  let timer
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
  }
  wait()
  child.stdin.on('error', () => {})
  const verdicts = new Map()
  for (const job of jobs) if (job.cannot) verdicts.set(job.id, { job, wrong: [], skipped: `${job.client}: ${job.cannot}` })
  const asked = JSON.stringify(jobs.filter(job => !job.cannot).map(job => job.says))
  child.stdin.end(asked.replaceAll(/"#([\d.]+)"/g, '$1'))

  for await (const line of createInterface({ input: child.stdout })) {
    wait()
    // Other lines are the logs of an SDK.
    const said = line.startsWith('{"') ? JSON.parse(line) : undefined
    const job = jobs.find(({ id }) => id === said?.id)
    if (job === undefined) process.stderr.write(`${line}\n`)
    else verdicts.set(job.id, verdictOf(job, said, stage))
  }
  clearTimeout(timer)
  const why = await ended
  return jobs.map(job => verdicts.get(job.id) ?? { job, wrong: [`no result: ${why}`] })
}

/** The environment without variables that give the SDKs another address, key or proxy. */
function plain(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(OPENAI|ANTHROPIC|GOOGLE|GEMINI)_|_PROXY$/i.test(name)))
}

function verdictOf(job, said, stage) {
  if (said.skipped !== undefined) return { job, wrong: [], skipped: said.skipped }
  return { job, wrong: judge(job, said, stage.heard(job)) }
}
