// Buffers an upload between the client and an upstream. Bytes whose destination is not yet known go to a temporary file
// when they exceed a small memory buffer; bytes that can go on at once pause the client instead.

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What is held in memory: bytes. */
export const HELD = 1024 * 1024
const BLOCK = 64 * 1024

/** Stores bytes, in a file beyond `HELD`, and can be read repeatedly after it has ended. */
export class Store {
  private chunks: Buffer[] = []
  private file: FileHandle | undefined
  private isClosed = false
  length = 0

  /** What comes after `close` is dropped. */
  async push(chunk: Buffer): Promise<void> {
    if (this.isClosed) return
    this.length += chunk.length
    if (this.file === undefined && this.length <= HELD) {
      this.chunks.push(chunk)
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
    const held = Buffer.concat(this.chunks)
    this.chunks = []
    await file.write(held)
    return file
  }

  async *read(): AsyncGenerator<Buffer> {
    if (this.file === undefined) {
      yield* this.chunks
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
    this.chunks = []
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
  private chunks: Buffer[] = []
  /** Dropped chunks, and the bytes of the chunks that remain. */
  private gone = 0
  private held = 0
  private isEnded = false
  private failure: unknown
  private wakeReader: (() => void) | undefined
  private wakeWriter: (() => void) | undefined

  async push(chunk: Buffer): Promise<void> {
    this.chunks.push(chunk)
    this.held += chunk.length
    this.wakeReader?.()
    while (this.held > HELD && this.failure === undefined) {
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
    for (let index = 0; ; index++) {
      while (index - this.gone >= this.chunks.length && !this.isEnded && this.failure === undefined) {
        await new Promise<void>(resolve => {
          this.wakeReader = resolve
        })
      }
      if (this.failure !== undefined) throw this.failure
      const chunk = this.chunks[index - this.gone]
      if (chunk === undefined) return
      yield chunk
      // Over the limit, chunks that were read are dropped.
      while (this.held > HELD && this.gone <= index) {
        this.held -= (this.chunks.shift() as Buffer).length
        this.gone++
      }
      this.wakeWriter?.()
    }
  }
}
