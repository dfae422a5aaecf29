// Changes of state that outlives a configuration: none is made until all of the new configuration is linked.

export class Changes {
  private waiting: (() => void)[] | undefined

  /** Links a configuration: makes the changes that `build` asks for after it, and none if it throws. */
  during<Result>(build: () => Result): Result {
    const waiting: (() => void)[] = []
    this.waiting = waiting
    let result: Result
    try {
      result = build()
    } finally {
      this.waiting = undefined
    }
    for (const change of waiting) change()
    return result
  }

  /** Makes a change: at once, unless a configuration is being linked. */
  make(change: () => void): void {
    if (this.waiting) this.waiting.push(change)
    else change()
  }
}
