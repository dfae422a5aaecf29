// Waits for a condition instead of a time.

/** How long what has to come may take, on a machine that is busy with something else: milliseconds. */
export const PATIENCE = 180_000
/** How often it is looked at: milliseconds. */
const LOOK = 10

export const sleep = (milliseconds: number): Promise<void> => new Promise(done => setTimeout(done, milliseconds))

/** What `read` gives once it is `wanted`, or what it gives when that has taken too long. */
export async function settle<Value>(read: () => Value, wanted: Value): Promise<Value> {
  const until = performance.now() + PATIENCE
  while (read() !== wanted && performance.now() < until) await sleep(LOOK)
  return read()
}

/** The value of `read` once it has not changed for this time: for things that must stay, or must not happen. */
export async function still<Value>(read: () => Value, milliseconds: number): Promise<Value> {
  let last = read()
  // Looks are counted and not time: a process that did not run has seen nothing.
  for (let looks = 0; looks * LOOK < milliseconds; looks++) {
    await sleep(LOOK)
    const value = read()
    if (value !== last) looks = 0
    last = value
  }
  return last
}

/** What `read` gives once it gives something; throws where that takes too long. */
export async function until<Value>(read: () => Value | undefined | false): Promise<Value> {
  const end = performance.now() + PATIENCE
  for (;;) {
    const value = read()
    if (value !== undefined && value !== false) return value
    if (performance.now() > end) throw new Error(`nothing came of ${read}`)
    await sleep(LOOK)
  }
}
