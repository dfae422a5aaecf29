// Messages that wait for their answer. They are sent again when the connection is back, and fail after a while.

/** Milliseconds that an asker waits for its answer. */
export const PATIENCE = 2_000

interface Waiting<Message, Answer> {
  message: Message
  timer: NodeJS.Timeout
  resolve(answer: Answer): void
  reject(error: Error): void
}

export class Asks<Message, Answer> {
  private readonly waiting = new Map<number, Waiting<Message, Answer>>()

  /**
   * @param send sends a message, if there is a connection
   * @param late the error if no answer comes in time
   * @param patience milliseconds that an asker waits
   */
  constructor(
    private readonly send: (message: Message) => void,
    private readonly late: () => Error,
    private readonly patience = PATIENCE,
  ) {}

  get size(): number {
    return this.waiting.size
  }

  /** Sends a message, and resolves with its answer. Rejects if none comes in time. */
  ask(number: number, message: Message): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(number, this.late()), this.patience)
      // Nothing but an exchange, whose socket is open, needs the answer.
      timer.unref()
      this.waiting.set(number, { message, timer, resolve, reject })
      this.send(message)
    })
  }

  /** The message that still waits. */
  messageOf(number: number): Message | undefined {
    return this.waiting.get(number)?.message
  }

  answer(number: number, answer: Answer): void {
    this.remove(number)?.resolve(answer)
  }

  fail(number: number, error: Error): void {
    this.remove(number)?.reject(error)
  }

  /** Sends all messages that wait. */
  resend(): void {
    for (const { message } of this.waiting.values()) this.send(message)
  }

  private remove(number: number): Waiting<Message, Answer> | undefined {
    const waiting = this.waiting.get(number)
    this.waiting.delete(number)
    clearTimeout(waiting?.timer)
    return waiting
  }
}
