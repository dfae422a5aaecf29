// Turns of the event loop, and of tasks: only so many run at once, and the others wait, in order.

/** Lets other events come first: a chain of promises alone, such as those of SQLite, lets none. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

export class Turns {
  private running = 0
  private readonly waiting: (() => void)[] = []

  constructor(private readonly most: number) {}

  /** Other events come between two tasks, even if the tasks themselves never wait. */
  async run(task: () => Promise<void>): Promise<void> {
    if (this.running >= this.most) await new Promise<void>(resolve => this.waiting.push(resolve))
    else this.running++
    try {
      await turn()
      await task()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.running--
    }
  }
}
