/** One request at a time: the time that a contender adds until the first byte of the answer's body, and until its end. */
import { Client } from 'undici'
import { exchange, label, prove } from './exchange.mjs'
import { quantile } from './stats.mjs'
import { warmUp } from './throughput.mjs'

/** @returns {Promise<{ first: number, total: number }>} milliseconds */
function ask(client, { method, path, headers, body }) {
  return new Promise((resolve, reject) => {
    const started = performance.now()
    let first
    client.dispatch(
      { method, path, headers, body },
      {
        onConnect() {},
        onHeaders: status => status === 200 || reject(new Error(`HTTP ${status}`)),
        onData: () => ((first ??= performance.now() - started), true),
        onComplete: () => resolve({ first, total: performance.now() - started }),
        onError: reject,
      },
    )
  })
}

/** Requests in one turn: enough that the first ones, with the caches of another contender, are less than one in a hundred. */
export const TURN = 200
/** A slow one must not take the others' time: milliseconds. */
export const LONGEST_TURN = 150
const MOST = 20_000
/** Requests before the first that counts, and the most time for them: milliseconds. */
const WARM_UP = 4_000
const LONGEST_WARM_UP = 3_000

/** While one has its turn, the others are stopped: their remaining work would take its core for milliseconds. */
async function takeTurn(row) {
  signal(row, 'SIGCONT')
  const end = performance.now() + LONGEST_TURN
  for (let j = 0; j < TURN && performance.now() < end; j++) {
    const { first, total } = await ask(row.client, row.call)
    row.first.push(first)
    row.total.push(total)
  }
  signal(row, 'SIGSTOP')
}

function signal({ pids }, name) {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // it has ended
    }
  }
}

/** Each contender takes its turn every few milliseconds, so that a disturbance of the machine affects all of them. */
export async function latency(workload, bench) {
  const rows = []
  for (const who of workload.who) {
    const row = { who, label: label(workload, who), first: [], total: [], pids: [] }
    try {
      const running = await bench.running(who)
      row.pids = running.pids()
      row.call = exchange(workload, who, running, bench)
      await prove(row.call)
      await warmUp(row.call, { ...workload, concurrency: 8 }, bench)
      row.client = new Client(running.url)
      // The client's code is compiled by then, too.
      const end = performance.now() + LONGEST_WARM_UP
      for (let i = 0; i < WARM_UP && performance.now() < end; i++) await ask(row.client, row.call)
    } catch (error) {
      row.skipped = error.message
    }
    rows.push(row)
  }
  const asked = rows.filter(({ skipped }) => !skipped)
  const until = performance.now() + bench.seconds * bench.rounds * 1000
  for (const row of asked) signal(row, 'SIGSTOP')
  try {
    for (let i = 0; i < MOST / TURN && performance.now() < until; i++) for (const row of asked) await takeTurn(row)
  } finally {
    for (const row of asked) signal(row, 'SIGCONT')
  }
  await Promise.all(rows.map(({ client }) => client?.close()))
  const direct = rows.find(({ who }) => who === 'direct')
  return rows.map(({ who, label, skipped, first, total }) => {
    if (skipped) return { who, label, skipped, samples: {} }
    const added = (values, base, q) => [quantile(values, q) - quantile(base, q)]
    return {
      who,
      label,
      requests: first.length,
      samples: {
        first50: [quantile(first, 0.5)],
        first99: [quantile(first, 0.99)],
        total50: [quantile(total, 0.5)],
        total99: [quantile(total, 0.99)],
        addedFirst50: added(first, direct.first, 0.5),
        addedFirst99: added(first, direct.first, 0.99),
        addedTotal50: added(total, direct.total, 0.5),
        addedTotal99: added(total, direct.total, 0.99),
      },
    }
  })
}
