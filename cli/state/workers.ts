// Counts limits for the workers of one instance in their supervisor, over the channel between them.

import { Asks } from '../../engine/control/asks.js'
import { LocalCounter } from '../../engine/limits/counter.js'
import type { Counter, Grant, HeldSlots } from '../../engine/limits/shared.js'

/** A worker's question; the answer has the same number. */
export type LimitQuestion = { number: number } & (
  | { ask: 'take'; id: string; limit: number; window: number; amount: number }
  | { ask: 'give'; id: string; amount: number }
  | { ask: 'hold'; id: string; limit: number; slots: number }
  | { ask: 'probe' }
)
export interface LimitAnswer {
  number: number
  processes: number
  grant?: Grant
  slots?: HeldSlots
}

/** Milliseconds for an answer. */
const PATIENCE = 1_000

/** Answers the questions of workers. */
export class WorkerLimits {
  private readonly counter = new LocalCounter(() => performance.now())

  answer(worker: unknown, question: LimitQuestion, processes: number): LimitAnswer {
    const { number } = question
    switch (question.ask) {
      case 'take':
        return { number, processes, grant: this.counter.take(question.id, question.limit, question.window, question.amount) }
      case 'give':
        this.counter.give(question.id, question.amount)
        return { number, processes }
      case 'hold':
        return { number, processes, slots: this.counter.hold(question.id, question.limit, question.slots, worker) }
      case 'probe':
        return { number, processes }
    }
  }

  /** A worker has ended: its slots are free. */
  ended(worker: unknown): void {
    this.counter.leave(worker)
  }
}

type Unnumbered<Question> = Question extends unknown ? Omit<Question, 'number'> : never

/** A worker's counter. */
export class SupervisedCounter implements Counter {
  private count = 1
  private number = 0
  private readonly asks: Asks<LimitQuestion, LimitAnswer>

  constructor(send: (question: LimitQuestion) => void) {
    this.asks = new Asks(send, () => new Error('the process that counts limits does not answer'), PATIENCE)
  }

  /** Call it with each answer of the supervisor. */
  answered(answer: LimitAnswer): void {
    this.count = answer.processes
    this.asks.answer(answer.number, answer)
  }

  processes(): number {
    return this.count
  }

  async take(id: string, limit: number, window: number, amount: number): Promise<Grant> {
    return (await this.ask({ ask: 'take', id, limit, window, amount })).grant as Grant
  }

  async give(id: string, _window: number, amount: number): Promise<void> {
    await this.ask({ ask: 'give', id, amount })
  }

  async hold(id: string, limit: number, slots: number): Promise<HeldSlots> {
    return (await this.ask({ ask: 'hold', id, limit, slots })).slots as HeldSlots
  }

  async probe(): Promise<void> {
    await this.ask({ ask: 'probe' })
  }

  private ask(question: Unnumbered<LimitQuestion>): Promise<LimitAnswer> {
    const number = this.number++
    return this.asks.ask(number, { ...question, number } as LimitQuestion)
  }
}
