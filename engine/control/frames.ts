// Messages over a socket between processes of one machine: four bytes of length, then a value as V8 serializes it.

import type { Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'

/** The longest message: bytes. A greater length comes from another program. */
const LONGEST = 64 * 1024 * 1024

/** Sends a value. What the other side does not take waits in the socket: `socket.writableLength` bytes. */
export function sendFrame(socket: Socket, value: object): void {
  const body = serialize(value)
  const head = Buffer.allocUnsafe(4)
  head.writeUInt32LE(body.length)
  socket.cork()
  socket.write(head)
  socket.write(body)
  socket.uncork()
}

/** Calls `take` for every message that arrives, in order: an object. Destroys a socket that sends anything else. */
export function onFrames(socket: Socket, take: (value: object) => void): void {
  let held: Buffer[] = []
  let length = 0
  let wanted = -1
  const gather = (): Buffer => {
    const whole = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held, length)
    held = [whole]
    return whole
  }
  const takeBytes = (count: number): Buffer => {
    const whole = gather()
    length -= count
    held = length === 0 ? [] : [whole.subarray(count)]
    return whole.subarray(0, count)
  }
  socket.on('data', (chunk: Buffer) => {
    held.push(chunk)
    length += chunk.length
    for (;;) {
      if (wanted < 0) {
        if (length < 4) return
        wanted = takeBytes(4).readUInt32LE()
        if (wanted > LONGEST) {
          socket.destroy(new Error('the message is longer than any of ours'))
          return
        }
      }
      if (length < wanted) return
      const body = takeBytes(wanted)
      wanted = -1
      const value = messageIn(body)
      if (value === undefined) {
        socket.destroy(new Error('the bytes are none of our messages'))
        return
      }
      take(value)
    }
  })
}

function messageIn(body: Buffer): object | undefined {
  try {
    const value: unknown = deserialize(body)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
