// Bytes for uWebSockets.js. Its builds encode a JavaScript string differently: the one for Node 24 writes a string whose
// characters are all below U+0100 as Latin-1, any other as UTF-8. So the library gets only bytes, or ASCII text, which
// every build writes alike. The types `Answering` and `Talking` are its objects with the methods for any other text
// removed.

import type { HttpResponse, us_socket_context_t, WebSocket } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import { isPlainValue } from '../core/text.js'

declare const isAscii: unique symbol

/** Text whose UTF-8 and Latin-1 bytes are the same. */
export type Ascii = string & { readonly [isAscii]: true }
export type Bytes = Buffer | Ascii

/** Text as UTF-8. ASCII text stays a string: that is cheaper, and its length in bytes is its length in characters. */
export function utf8(text: string): Bytes {
  return Buffer.byteLength(text) === text.length ? (text as Ascii) : Buffer.from(text)
}

/** Marks a text as ASCII. Only for literals of our own code, or for text that is made of letters, digits and the like. */
export const ascii = (text: string): Ascii => text as Ascii

/** The status of an answer, with its words if it has any. */
export const statusLine = (status: number): Ascii => ascii(STATUS_LINES[status] ?? String(status))

/** Those that the providers of models use, and Node does not know. */
const OWN_WORDS: Readonly<Record<number, string>> = { 499: 'Client Closed Request', 529: 'Overloaded' }

const STATUS_LINES: Readonly<Record<string, string>> = Object.freeze(
  Object.fromEntries(Object.entries({ ...STATUS_CODES, ...OWN_WORDS }).map(([status, words]) => [status, `${status} ${words}`])),
)

const UNWRITABLE = /[^\t\x20-\x7e\x80-\xff]/
const NOT_PLAIN = /[^\t\x20-\x7e]+/g

/**
 * The value of a header. The bytes of an upstream's header, held as characters of the same numbers, go out unchanged. A
 * value with characters that no header may have is percent-encoded, except for its plain characters.
 */
export function headerText(value: string): Bytes {
  if (isPlainValue(value)) return value as Ascii
  // `Buffer.from` replaces half a surrogate pair by U+FFFD.
  if (UNWRITABLE.test(value)) return Buffer.from(value).toString().replaceAll(NOT_PLAIN, encodeURIComponent) as Ascii
  return Buffer.from(value, 'latin1')
}

/** The longest reason that a WebSocket close frame can hold: bytes. */
const LONGEST_REASON = 123
/** The mask and value of a UTF-8 continuation byte; the first byte of a character never matches it. */
const CONTINUES = 0b1000_0000
const MARK = 0b1100_0000

/** The reason of a close frame, cut after the last whole character that fits. */
export function reasonText(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length <= LONGEST_REASON) return bytes
  let end = LONGEST_REASON
  while (((bytes[end] as number) & MARK) === CONTINUES) end--
  return bytes.subarray(0, end)
}

/** A response of uWebSockets.js. */
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
