// Keeps the store open: opens it as soon as possible, and knows whether it is reachable.

import type { Logger } from 'pino'
import { openStore, type Store, type StoreOptions } from './store.js'
import { UnfitStore } from './unfit.js'

/** Milliseconds between attempts to open it, and between warnings that it is unreachable. */
const AGAIN = 500
const WARN_AGAIN = 10_000

/** The store is needed but unreachable. */
export class StoreUnreachable extends Error {
  constructor() {
    super('The store is unreachable.')
  }
}

export class Keeper {
  private store: Store | undefined
  private isUp = false
  private isClosed = false
  private timer: NodeJS.Timeout | undefined
  private hasWarned = false
  private warnedAt = Number.NEGATIVE_INFINITY
  private endTrial: () => void = () => undefined
  /** Resolves when the first attempt to open it has ended: what is asked before need not fail. */
  readonly tried = new Promise<void>(resolve => {
    this.endTrial = resolve
  })

  constructor(
    private readonly options: StoreOptions,
    private readonly log: Logger,
    /** Runs once, after it was opened for the first time. */
    private readonly onOpened: (store: Store) => Promise<void>,
  ) {}

  /** Tries to open it; rejects only if no further attempt can help. */
  async open(): Promise<void> {
    try {
      const store = await openStore(this.options)
      try {
        await this.onOpened(store)
      } catch (error) {
        await store.close().catch(() => undefined)
        throw error
      }
      this.store = store
      this.succeeded()
    } catch (error) {
      if (error instanceof UnfitStore) throw error
      this.failed(error)
      if (this.isClosed) return
      this.timer = setTimeout(() => void this.open().catch(this.onRefused), AGAIN)
    } finally {
      this.endTrial()
    }
  }

  /** Runs if it turns out later that no attempt can help. */
  onRefused: (error: unknown) => void = () => undefined

  /** Whether the last operation was answered. */
  get up(): boolean {
    return this.isUp
  }

  /** Throws `StoreUnreachable` until it has been opened. */
  get(): Store {
    if (this.store === undefined) throw new StoreUnreachable()
    return this.store
  }

  /** An operation of the store succeeded. */
  succeeded(): void {
    if (!this.isUp && this.hasWarned) this.log.info('the store is reachable again')
    this.isUp = true
    this.hasWarned = false
  }

  /** An operation of the store failed: it counts as unreachable until the next one succeeds. */
  failed(error: unknown): void {
    // Why it cannot be opened is known to the attempts to do so, and it may only not be open yet.
    if (error instanceof StoreUnreachable) return
    this.isUp = false
    // A full disk can be read, and not written: it would be both several times a second.
    if (this.hasWarned || performance.now() < this.warnedAt + WARN_AGAIN) return
    this.hasWarned = true
    this.warnedAt = performance.now()
    this.log.error(
      { cause: error instanceof Error ? `${(error as { code?: string }).code ?? error.name} ${error.message}` : String(error) },
      'the store is unreachable',
    )
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.store?.close().catch(() => undefined)
  }
}
