/** Many paced streams at once, each restarted when it ends: lost frames, the gaps between events, memory and CPU. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHUNKS, PACES } from './dialects.mjs'
import { buffer, EventCounter } from './event-counter.mjs'
import { exchange, label, prove } from './exchange.mjs'
import { cpu, rss } from './processes.mjs'

/** The longest gap that is distinguished. */
const MOST = 60_000

/** The common counts of all streams of a run. */
const tally = () => ({ streams: 0, failed: 0, short: 0, events: 0, lost: 0, gaps: new Uint32Array(MOST + 1), why: undefined })

/** One connection, which sends requests while `more()` is true; resolves when its last stream has ended or it failed. */
function client(call, bytes, found, more) {
  const { hostname, port } = new URL(call.url)
  const counter = new EventCounter()
  let last = 0

  return new Promise(resolve => {
    let over = false
    const fail = why => {
      if (over) return
      found.failed++
      found.lost += call.events - counter.events
      found.why ??= why
      leave()
    }
    const leave = () => {
      over = true
      socket.destroy()
      resolve()
    }
    const begin = () => {
      counter.begin()
      last = 0
      socket.write(bytes)
    }
    const socket = connect({ host: hostname, port, noDelay: true, onread: { buffer, callback: heard } }, begin)
    socket.on('error', error => fail(error.message)).on('close', () => fail('the connection was closed'))

    function heard(length) {
      const before = counter.events
      counter.read(length)
      if (counter.bad) return fail(counter.bad)
      if (counter.events > before) {
        const now = performance.now()
        if (last > 0) found.gaps[Math.min(MOST, Math.ceil(now - last))]++
        last = now
        found.events += counter.events - before
      }
      if (!counter.ended) return true
      found.streams++
      found.lost += Math.max(0, call.events - counter.events)
      if (counter.bytes < call.length * 0.99) found.short++
      if (more()) begin()
      else leave()
      return true
    }
  })
}

function bytesOf({ url, path, method, headers, body }) {
  const lines = Object.entries({ host: new URL(url).host, ...headers, 'content-length': Buffer.byteLength(body) })
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}

/** The smallest gap that at most a share of all gaps exceeds. */
function gap(gaps, share) {
  const total = gaps.reduce((sum, n) => sum + n, 0)
  let beyond = 0
  for (let ms = MOST; ms > 0; ms--) if ((beyond += gaps[ms]) > total * share) return ms
  return 0
}

/** A new process for each run: memory that an earlier load left would hide this one's. */
async function measure(workload, who, bench) {
  const running = await bench.fresh(who)
  try {
    const call = exchange(workload, who, running, bench)
    Object.assign(call, await prove(call))
    const bytes = bytesOf(call)
    const warmed = tally()
    await Promise.all(Array.from({ length: 32 }, () => client(call, bytes, warmed, () => false)))

    // The starts of the streams are spread over the duration of one, so that they do not all end together.
    const pace = PACES[workload.answer]
    const ramp = (CHUNKS + 2) * pace
    const pids = running.pids()
    const idle = rss(pids)
    let peak = idle
    const watch = setInterval(() => (peak = Math.max(peak, rss(pids))), 250)
    const found = tally()
    const began = performance.now()
    const until = began + ramp + bench.pacedSeconds * 1000
    const before = cpu(pids)
    const clients = []
    for (let tick = 1; clients.length < workload.concurrency; tick++) {
      const due = Math.min(workload.concurrency, Math.ceil((workload.concurrency * tick * pace) / ramp))
      while (clients.length < due) clients.push(client(call, bytes, found, () => performance.now() < until))
      await sleep(Math.max(0, began + tick * pace - performance.now()))
    }
    // Bounded: whatever has not ended by then has failed.
    const ended = await Promise.race([
      Promise.all(clients).then(() => true),
      sleep(until - performance.now() + ramp + 20_000, false, { ref: false }),
    ])
    const seconds = (performance.now() - began) / 1000
    clearInterval(watch)
    if (!ended) throw new Error(`streams still run 20 s after the last was to end: ${found.streams} have ended`)
    if (found.failed > 0 && found.streams === 0) throw new Error(found.why)
    const used = cpu(pids) - before
    return {
      values: {
        streams: found.streams,
        failed: found.failed + found.short,
        lost: found.lost,
        gapMax: gap(found.gaps, 0),
        gap999: gap(found.gaps, 0.001),
        gap50: gap(found.gaps, 0.5),
        eventRate: found.events / seconds,
        core: pids.length > 0 ? used / 1e4 / seconds : NaN,
        cpuEvent: pids.length > 0 ? used / found.events : NaN,
        memory: pids.length > 0 ? (peak - idle) / 1024 / workload.concurrency : NaN,
      },
      why: found.why,
    }
  } finally {
    await running.stop()
  }
}

export async function paced(workload, bench) {
  const rows = workload.who.map(who => ({ who, label: label(workload, who), samples: {} }))
  for (let round = 0; round < bench.pacedRounds; round++) {
    for (const row of rows) {
      if (row.skipped) continue
      try {
        const { values, why } = await measure(workload, row.who, bench)
        row.note ??= why
        for (const [name, value] of Object.entries(values)) (row.samples[name] ??= []).push(value)
      } catch (error) {
        row.skipped = error.message
      }
    }
  }
  return rows
}
