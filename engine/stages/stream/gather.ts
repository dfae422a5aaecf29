// Hands on the chunks of one read of the upstream together: the HTTP client delivers each chunk of a chunked body alone, which
// is often one event, and many events cost less at once.

/** Bytes that are gathered at most. */
const MOST = 64 * 1024

export interface Gathering {
  add(chunk: Buffer): void
  /** Hands on what is there. Call it before anything that follows the chunks. */
  leave(): void
}

/** Hands chunks on to `take` once the client has delivered all of a read. */
export function gathering(take: (chunk: Buffer) => void): Gathering {
  let chunks: Buffer[] = []
  let length = 0
  const leave = (): void => {
    if (chunks.length === 0) return
    const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
    chunks = []
    length = 0
    take(whole)
  }
  return {
    add(chunk) {
      length += chunk.length
      const count = chunks.push(chunk)
      if (length > MOST) leave()
      else if (count === 1) queueMicrotask(leave)
    },
    leave,
  }
}
