/** One request at a time: what a contender adds to the time to the first byte of the answer's body, and to its end. */
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

/** Requests in one turn: enough for a contender to find its own code and data in the caches of its core. */
export const TURN = 50
const MOST = 20_000

/** Each contender takes its turn every few milliseconds, so that what disturbs the machine disturbs all of them. */
export async function latency(workload, bench) {
  const rows = []
  for (const who of workload.who) {
    const row = { who, label: label(workload, who), first: [], total: [] }
    try {
      const running = await bench.running(who)
      row.call = exchange(workload, who, running, bench)
      await prove(row.call)
      await warmUp(row.call, { ...workload, concurrency: 8 }, bench)
      row.client = new Client(running.url)
      for (let i = 0; i < 200; i++) await ask(row.client, row.call)
    } catch (error) {
      row.skipped = error.message
    }
    rows.push(row)
  }
  const asked = rows.filter(({ skipped }) => !skipped)
  const until = performance.now() + bench.seconds * bench.rounds * 1000
  for (let i = 0; i < MOST / TURN && performance.now() < until; i++) {
    for (const row of asked) {
      for (let j = 0; j < TURN; j++) {
        const { first, total } = await ask(row.client, row.call)
        row.first.push(first)
        row.total.push(total)
      }
    }
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
