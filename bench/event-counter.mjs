/**
 * Counts the events of chunked answers on one connection, without an object for each event: the client's side of thousands of
 * streams must fit on part of a core.
 */

const CR = 13
const LF = 10
const DIGIT = 48
const NINE = 57

/** One buffer for all sockets: its content is processed before the next socket is read. */
export const buffer = Buffer.alloc(64 * 1024)

export class EventCounter {
  /** The count of the current answer, or of the one that has just ended. */
  events = 0
  bytes = 0
  ended = false
  /** The fault of the answer's head, if there is one. */
  bad = undefined

  #state = 'head'
  #head = ''
  #left = 0
  #afterLineFeed = false

  begin() {
    this.events = 0
    this.bytes = 0
    this.ended = false
    this.#state = 'head'
    this.#head = ''
  }

  /** Reads the first `length` bytes of `buffer`. */
  read(length) {
    let at = 0
    while (at < length && !this.ended && !this.bad) at = this.#step(at, length)
  }

  #step(at, length) {
    switch (this.#state) {
      case 'head':
        return this.#readHead(at, length)
      case 'size':
        return this.#size(at)
      case 'data':
        return this.#data(at, length)
      case 'after':
        return this.#after(at)
      default:
        return this.#last(at)
    }
  }

  #readHead(at, length) {
    const before = this.#head.length
    this.#head += buffer.latin1Slice(at, length)
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return length
    const head = this.#head.slice(0, end)
    if (!head.startsWith('HTTP/1.1 200') || !/transfer-encoding: chunked/i.test(head)) this.bad = head.slice(0, 200)
    this.#left = 0
    this.#state = 'size'
    return at + end + 4 - before
  }

  #size(at) {
    const byte = buffer[at]
    if (byte === LF) this.#state = this.#left > 0 ? 'data' : 'last'
    else if (byte !== CR) this.#left = this.#left * 16 + (byte <= NINE ? byte - DIGIT : (byte | 32) - 87)
    return at + 1
  }

  /** An empty line ends an event; its two line feeds may come in different reads. */
  #data(at, length) {
    const end = Math.min(length, at + this.#left)
    let afterLineFeed = this.#afterLineFeed
    for (let i = at; i < end; i++) {
      if (buffer[i] !== LF) afterLineFeed = false
      else if (afterLineFeed) {
        this.events++
        afterLineFeed = false
      } else afterLineFeed = true
    }
    this.#afterLineFeed = afterLineFeed
    this.bytes += end - at
    this.#left -= end - at
    if (this.#left === 0) this.#state = 'after'
    return end
  }

  #after(at) {
    if (buffer[at] === LF) this.#state = 'size'
    return at + 1
  }

  #last(at) {
    if (buffer[at] === LF) this.ended = true
    return at + 1
  }
}
