// How long a target takes to begin its answer: a peak EWMA, as Finagle has it. A slower answer counts at once, a faster one
// bit by bit, and what was seen is forgotten with time, so that a target that was slow is asked again.

/** Milliseconds after which what was seen counts a third. */
const DECAY = 10_000

export class PeakEwma {
  private value = 0
  private at = 0

  /** @param took milliseconds @param time of the clock of deadlines */
  observe(took: number, time: number): void {
    const before = this.load(time)
    const weight = Math.exp(-(time - this.at) / DECAY)
    this.value = took > before ? took : before * weight + took * (1 - weight)
    this.at = time
  }

  /** Milliseconds; 0 where nothing was seen for long. */
  load(time: number): number {
    return this.at === 0 ? 0 : this.value * Math.exp(-Math.max(0, time - this.at) / DECAY)
  }
}

/** Streams begin sooner than whole answers, so each has its own. */
export class Latency {
  readonly stream = new PeakEwma()
  readonly whole = new PeakEwma()
}
