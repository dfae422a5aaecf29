// What the server's library is handed. How it writes a JavaScript string depends on the build: the one for Node 24 writes
// those whose characters are all below U+0100 as Latin-1, others as UTF-8. So it gets bytes, or text of which all builds
// make the same ones, and the types see to it: `Answering` and `Talking` are its objects without any other way.

import type { HttpResponse, us_socket_context_t, WebSocket } from 'uWebSockets.js'

declare const isAscii: unique symbol

/** Text that is its own encoding. */
export type Ascii = string & { readonly [isAscii]: true }
export type Bytes = Buffer | Ascii

/** Text as UTF-8. What is ASCII stays as it is, which is cheaper: it is as many bytes long as it has characters. */
export function utf8(text: string): Bytes {
  return Buffer.byteLength(text) === text.length ? (text as Ascii) : Buffer.from(text)
}

/** A text of letters, digits and the like that stands in our own code, or is made of nothing else. */
export const ascii = (text: string): Ascii => text as Ascii

const PLAIN = /^[\t\x20-\x7e]*$/
const UNWRITABLE = /[^\t\x20-\x7e\x80-\xff]/
const NOT_PLAIN = /[^\t\x20-\x7e]+/g

/**
 * The value of a header. Bytes of an upstream's, which we hold as the characters of the same numbers, are what they were;
 * where there are characters that no header has, all but plain ones are written with percent signs.
 */
export function headerText(value: string): Bytes {
  if (PLAIN.test(value)) return value as Ascii
  // A lone half of a character becomes the character that says so.
  if (UNWRITABLE.test(value)) return Buffer.from(value).toString().replaceAll(NOT_PLAIN, encodeURIComponent) as Ascii
  return Buffer.from(value, 'latin1')
}

/** How long the reason of a goodbye may be: bytes. */
const LONGEST_REASON = 123
/** The first byte of a character is none of these. */
const CONTINUES = 0b1000_0000
const MARK = 0b1100_0000

/** The reason of a goodbye, as much of it as there may be, in whole characters. */
export function reasonText(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length <= LONGEST_REASON) return bytes
  let end = LONGEST_REASON
  while (((bytes[end] as number) & MARK) === CONTINUES) end--
  return bytes.subarray(0, end)
}

/** An answer of HTTP. */
export type Answering = Pick<
  HttpResponse,
  | 'onAborted'
  | 'onData'
  | 'onWritable'
  | 'cork'
  | 'pause'
  | 'resume'
  | 'close'
  | 'endWithoutBody'
  | 'getWriteOffset'
  | 'getRemoteAddressAsText'
> & {
  writeStatus(status: Ascii): unknown
  writeHeader(name: Ascii, value: Bytes): unknown
  write(chunk: Bytes): boolean
  end(body?: Bytes, closeConnection?: boolean): unknown
  tryEnd(chunk: Bytes, totalSize: number): [boolean, boolean]
  upgrade<UserData>(data: UserData, key: Bytes, protocol: Bytes, extensions: Bytes, context: us_socket_context_t): void
}

/** A client's socket. */
export type Talking<UserData> = Pick<WebSocket<UserData>, 'getUserData' | 'getBufferedAmount'> & {
  send(message: Buffer, isBinary: boolean): number
  end(code: number, reason: Buffer): void
}
