// Measures the CPU time of functions in turns, so that a disturbance of the machine affects all of them.

const ROUNDS = 15
/** Microseconds of a round, and of one of the slowest. */
const SLICE = 25_000
const LONG_SLICE = 35_000

/**
 * Makes a loop for each contender: a shared one would call all of them from one place, which costs fast ones a multiple of
 * their own time. Results are kept for a while, so that V8 cannot remove the calls; inputs take turns.
 */
function loopOf(run, inputs, isAsync) {
  const [kind, wait] = isAsync ? ['async ', 'await '] : ['', '']
  const text = `return ${kind}count => { for (let i = 0; i < count; i++) kept[i & 7] = ${wait}run(inputs[i & 7]) }`
  return new Function('run', 'inputs', 'kept', text)(run, inputs, new Array(8).fill(undefined))
}

async function cpu(loop, count) {
  const began = process.cpuUsage()
  await loop(count)
  const { user, system } = process.cpuUsage(began)
  return user + system
}

/**
 * Measures the microseconds of one run for each contender: one number for each round.
 * @param {Record<string, { run: (input: unknown) => unknown, isAsync?: boolean }>} contenders
 */
export async function measure(contenders, input) {
  const text = JSON.stringify(input)
  const entries = []
  for (const [name, { run, isAsync = false }] of Object.entries(contenders)) {
    // As parsed from the wire.
    const loop = loopOf(run, Array.from({ length: 8 }, () => JSON.parse(text)), isAsync)
    const slice = isAsync ? LONG_SLICE : SLICE
    let count = 8
    // Warms up, and finds the number of runs that fit into a slice of time.
    for (let spent = 0, took = 0; spent < 5 * SLICE || took < slice / 2; ) {
      took = await cpu(loop, count)
      spent += took
      count = Math.max(8, Math.min(count * 4, Math.round((count * slice) / Math.max(took, 1))))
    }
    entries.push({ name, loop, count, times: [] })
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const entry of entries) {
      const took = await cpu(entry.loop, entry.count)
      if (round > 0) entry.times.push(took / entry.count)
    }
  }
  return Object.fromEntries(entries.map(({ name, times }) => [name, times]))
}
