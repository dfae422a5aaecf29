// Deletes many rows in small steps, so that nothing waits long: SQLite does nothing else meanwhile.

import { turn } from '../turns.js'

/** Rows deleted in one step, which takes some milliseconds. */
export const STEP = 2_000

/** Repeats a step that deletes `STEP` rows at most, until it finds fewer; returns how many there were. */
export async function inSteps(step: () => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const count = await step()
    total += count
    if (count < STEP) return total
    await turn()
  }
}
