/** From the start of a process to the moment when it listens; and its memory idle, loaded and afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import { contenders } from './contenders.mjs'
import { exchange, prove } from './exchange.mjs'
import { rss } from './processes.mjs'
import { load } from './throughput.mjs'

const MIB = 1024 * 1024

/** Runs `measure` for each contender in turn, round by round; it returns numbers by name. */
async function inTurns(workload, rounds, measure) {
  const rows = workload.who.map(who => ({ who, label: contenders[who].title, samples: {} }))
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) {
      if (row.skipped) continue
      try {
        for (const [name, value] of Object.entries(await measure(row.who))) (row.samples[name] ??= []).push(value)
      } catch (error) {
        row.skipped = error.message
      }
    }
  }
  return rows
}

export function coldStart(workload, bench) {
  return inTurns(workload, bench.coldStarts, async who => {
    const running = await bench.fresh(who)
    await running.stop()
    return { start: running.ms }
  })
}

export function memory(workload, bench) {
  return inTurns(workload, 1, async who => {
    const running = await bench.fresh(who)
    try {
      const call = exchange(workload, who, running, bench)
      await prove(call)
      const resident = () => rss(running.pids()) / MIB
      const idle = resident()
      let loaded = idle
      const watch = setInterval(() => (loaded = Math.max(loaded, resident())), 250)
      await load(call, workload, bench, 2 * bench.seconds)
      clearInterval(watch)
      await sleep(bench.rest * 1000)
      return { idle, loaded, recovered: resident() }
    } finally {
      await running.stop()
    }
  })
}
