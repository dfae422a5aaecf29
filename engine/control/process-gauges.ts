// What this process takes of the machine, for the metrics.

import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import type { Gauges } from './messages.js'

export class ProcessGauges {
  private readonly delay = monitorEventLoopDelay({ resolution: 20 })
  private gcMilliseconds = 0
  private readonly collections = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) this.gcMilliseconds += duration
  })

  constructor() {
    this.delay.enable()
    this.collections.observe({ entryTypes: ['gc'] })
  }

  /** The delays since the last call, and the other figures since the start. */
  take(): Pick<Gauges, 'loopDelay50' | 'loopDelay99' | 'residentBytes' | 'cpuMicroseconds' | 'gcMilliseconds'> {
    const { user, system } = process.cpuUsage()
    const taken = {
      loopDelay50: this.delay.percentile(50) / 1e6,
      loopDelay99: this.delay.percentile(99) / 1e6,
      residentBytes: process.memoryUsage.rss(),
      cpuMicroseconds: user + system,
      gcMilliseconds: this.gcMilliseconds,
    }
    this.delay.reset()
    return taken
  }

  close(): void {
    this.delay.disable()
    this.collections.disconnect()
  }
}
