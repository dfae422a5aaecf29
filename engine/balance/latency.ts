// How long a target takes to begin its answer, as a peak EWMA (as in Finagle). A slower answer counts at once, a faster one
// gradually, and old observations decay, so that a slow target is tried again.

/** Milliseconds after which an observation counts for a third. */
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

  /** Milliseconds; 0 after a long time without observations. */
  load(time: number): number {
    return this.at === 0 ? 0 : this.value * Math.exp(-Math.max(0, time - this.at) / DECAY)
  }
}

/** Keeps streams and whole answers apart, because streams begin sooner. */
export class Latency {
  readonly stream = new PeakEwma()
  readonly whole = new PeakEwma()
}
