// The room for kept answers. It is looked after once a minute, and sooner where much is kept: a minute of long answers could
// fill a disk.

import type { Logger } from 'pino'
import { hourly } from '../log.js'
import type { Keeper } from '../store/keeper.js'
import { shrink } from './kept.js'

/** The part of the room that may be exceeded before it is looked after. */
const PART = 16

export class Room {
  /** Bytes that this process added since the last look. */
  private added = 0
  private shrinking: Promise<void> | undefined
  private readonly warn: ReturnType<typeof hourly>

  /** @param size bytes that all kept answers may take in the store */
  constructor(
    private readonly keeper: Keeper,
    private readonly size: number,
    log: Logger,
  ) {
    this.warn = hourly(log)
  }

  /** An answer of so many bytes was kept. */
  add(bytes: number): void {
    this.added += bytes
    if (this.added > this.size / PART) void this.look().catch(error => this.keeper.failed(error))
  }

  /** Removes what there is no room for. */
  look(): Promise<void> {
    this.shrinking ??= this.shrink().finally(() => {
      this.shrinking = undefined
    })
    return this.shrinking
  }

  private async shrink(): Promise<void> {
    this.added = 0
    const removed = await shrink(this.keeper.get(), this.size)
    if (removed > 0) this.warn('kept answers are removed before their time: all together exceed `kept.size`', { removed })
  }
}
