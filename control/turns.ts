// Lets only so many tasks run at once; the others wait for their turn, in order.

export class Turns {
  private running = 0
  private readonly waiting: (() => void)[] = []

  constructor(private readonly most: number) {}

  /** Other events come between two tasks, even if the tasks themselves never wait. */
  async run(task: () => Promise<void>): Promise<void> {
    if (this.running >= this.most) await new Promise<void>(resolve => this.waiting.push(resolve))
    else this.running++
    try {
      await new Promise(resolve => setImmediate(resolve))
      await task()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.running--
    }
  }
}
