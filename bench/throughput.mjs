/** Closed-loop load from wrk: CPU per request and requests per second, contenders taking turns round by round. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { exchange, label, prove } from './exchange.mjs'
import { searchPath } from './install.mjs'
import { cpu } from './processes.mjs'

const run = promisify(execFile)
const script = fileURLToPath(new URL('wrk.lua', import.meta.url))

/** @returns {Promise<{ requests: number, bytes: number, seconds: number, p50: number, p99: number }>} */
async function wrk({ url, path, headers, bodyFile }, concurrency, seconds) {
  const { stdout } = await run('wrk', ['-t1', `-c${concurrency}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url + path], {
    timeout: (seconds + 20) * 1000,
    env: {
      ...searchPath(),
      BENCH_BODY: bodyFile,
      BENCH_HEADERS: Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
    },
  })
  const result = JSON.parse(/^result (.*)$/m.exec(stdout)[1])
  const failed = Object.entries(result.errors).filter(([, count]) => count > 0)
  if (failed.length > 0)
    throw new Error(`under load: ${failed.map(([kind, count]) => `${count} ${kind} errors`).join(', ')} in ${result.requests} requests`)
  return {
    requests: result.requests,
    bytes: result.bytes,
    seconds: result.microseconds / 1e6,
    p50: result.p50 / 1000,
    p99: result.p99 / 1000,
  }
}

/** Sends a request now and then while the load runs, and verifies the whole answer. Resolves with the number of right ones. */
async function sample(call, running) {
  let right = 0
  while (!running.aborted) {
    await prove(call)
    right++
    await new Promise(resolve => {
      const timer = setTimeout(resolve, 200)
      running.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
    })
  }
  return right
}

/** The mean length of answers under load must equal that of the verified one, apart from a header and the answers cut off at the end. */
function checkLength(call, { requests, bytes }, concurrency) {
  const mean = bytes / requests
  const least = call.length * 0.99
  const most = (call.length * 1.05 + 3000) * (1 + concurrency / requests)
  if (mean < least || mean > most)
    throw new Error(`under load an answer has ${Math.round(mean)} bytes on average; the verified one has ${call.length}`)
}

/** Load alone, without measuring. */
export async function load(call, workload, bench, seconds) {
  call.bodyFile = join(bench.folder, `body-${workload.name}-${call.dialect}`)
  writeFileSync(call.bodyFile, call.body)
  return wrk(call, workload.concurrency, seconds)
}

async function measure(call, running, concurrency, seconds) {
  const over = new AbortController()
  const sampled = sample(call, over.signal)
  sampled.catch(() => {})
  const pids = running.pids()
  const before = cpu(pids)
  const load = await wrk(call, concurrency, seconds)
  const used = cpu(pids) - before
  over.abort()
  const requests = load.requests + (await sampled)
  checkLength(call, load, concurrency)
  const measured = pids.length > 0
  return {
    cpu: measured ? used / requests : NaN,
    core: measured ? used / 1e4 / load.seconds : NaN,
    rps: load.requests / load.seconds,
    p50: load.p50,
    p99: load.p99,
  }
}

/**
 * Warms up with some seconds and some requests: code is compiled late, and would be measured before that. On a single core,
 * which the compiler shares, a process that has served other workloads needs several seconds to reach its best again.
 */
const WARM = { seconds: 8, requests: 6000 }

export async function warmUp(call, workload, bench) {
  let served = 0
  for (let i = 0; i < bench.warmUp && (i < WARM.seconds || served < WARM.requests); i++)
    served += (await load(call, workload, bench, 1)).requests
}

/** @returns {Promise<import('./run.mjs').Row[]>} */
export async function throughput(workload, bench) {
  const rows = []
  for (const who of workload.who) {
    const row = { who, label: label(workload, who), samples: { cpu: [], rps: [], core: [], p50: [], p99: [] } }
    try {
      const running = await bench.running(who)
      const call = exchange(workload, who, running, bench)
      Object.assign(row, { call, running }, await prove(call))
      call.length = row.length
      await warmUp(call, workload, bench)
    } catch (error) {
      row.skipped = error.message
    }
    rows.push(row)
  }
  for (let round = 0; round < bench.rounds; round++) {
    for (const row of rows) {
      if (row.skipped) continue
      try {
        const values = await measure(row.call, row.running, workload.concurrency, bench.seconds)
        for (const [name, value] of Object.entries(values)) row.samples[name].push(value)
      } catch (error) {
        row.skipped = error.message
      }
    }
  }
  return rows.map(({ call, running, ...row }) => row)
}
