// Buffers an upload between the client and an upstream. Bytes whose destination is not yet known go to a temporary file
// when they exceed a small memory buffer; bytes that can go on at once pause the client instead.

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Gathered } from '../core/gathered.js'

/** What is held in memory: bytes. */
export const HELD = 1024 * 1024
const BLOCK = 64 * 1024

/** Stores bytes, in a file beyond `HELD`, and can be read repeatedly after it has ended. */
export class Store {
  private readonly held = new Gathered()
  private file: FileHandle | undefined
  private isClosed = false
  length = 0

  /** What comes after `close` is dropped. */
  async push(chunk: Buffer): Promise<void> {
    if (this.isClosed) return
    this.length += chunk.length
    if (this.file === undefined && this.length <= HELD) {
      this.held.push(chunk)
      return
    }
    const file = this.file ?? (await this.moved())
    await file?.write(chunk)
  }

  /** A file with what was held in memory; undefined if it was closed meanwhile. */
  private async moved(): Promise<FileHandle | undefined> {
    const file = await openTemporary()
    if (this.isClosed) {
      await file.close()
      return undefined
    }
    this.file = file
    await file.write(this.held.take())
    return file
  }

  async *read(): AsyncGenerator<Buffer> {
    if (this.file === undefined) {
      yield* this.held.pieces
      return
    }
    for (let at = 0; at < this.length; ) {
      const { bytesRead, buffer } = await this.file.read(Buffer.allocUnsafe(BLOCK), 0, BLOCK, at)
      if (bytesRead === 0) throw new Error('a temporary file is shorter than what was written to it')
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.held.take()
    const { file } = this
    this.file = undefined
    await file?.close()
  }
}

/** A file that nobody else can open and that disappears when it is closed, however the process ends. */
async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `sluice-${randomBytes(16).toString('hex')}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** Passes bytes on; the writer waits while `HELD` bytes are unread. It can be read again as long as nothing was dropped. */
export class Passage {
  private readonly held = new Gathered()
  /** How many pieces were dropped. */
  private gone = 0
  private isEnded = false
  private failure: unknown
  private wakeReader: (() => void) | undefined
  private wakeWriter: (() => void) | undefined

  async push(chunk: Buffer): Promise<void> {
    this.held.push(chunk)
    this.wakeReader?.()
    while (this.held.length > HELD && this.failure === undefined) {
      await new Promise<void>(resolve => {
        this.wakeWriter = resolve
      })
    }
  }

  end(): void {
    this.isEnded = true
    this.wakeReader?.()
  }

  fail(error: unknown): void {
    this.failure ??= error
    this.wakeReader?.()
    this.wakeWriter?.()
  }

  /** Whether it can still be read from the beginning. */
  get isWhole(): boolean {
    return this.gone === 0
  }

  async *read(): AsyncGenerator<Buffer> {
    if (!this.isWhole) throw new Error('the beginning of this upload is gone')
    // The last piece grows, so a part of it may have been read.
    for (let index = 0, from = 0; ; ) {
      const piece = this.held.pieces[index - this.gone]
      const isLast = index - this.gone >= this.held.pieces.length - 1
      if (this.failure !== undefined) throw this.failure
      if (piece !== undefined && from < piece.length) {
        yield piece.subarray(from)
        from = piece.length
        this.drop(index, from)
      } else if (!isLast) {
        index++
        from = 0
      } else if (this.isEnded) return
      else
        await new Promise<void>(resolve => {
          this.wakeReader = resolve
        })
    }
  }

  /** Over the limit, drops the pieces before `index`, and that one, too, if all of it was read. */
  private drop(index: number, read: number): void {
    const { held } = this
    while (held.length > HELD && (this.gone < index || (this.gone === index && held.pieces[0]?.length === read))) {
      held.shift()
      this.gone++
    }
    this.wakeWriter?.()
  }
}
