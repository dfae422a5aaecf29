// A stream whose texts are checked before the client gets them. Events wait until enough text has followed that no match
// which begins in them can still grow, and then leave in order, whole.

import { asGatewayError, GatewayError } from '../../core/errors.js'
import type { Sink } from '../../core/exchange.js'
import type { Json, TextPaths } from '../../plan.js'
import { beginsAsJson, eachText, emptyAt, type Holder } from '../../wire/json/texts.js'
import { blocked, CONTEXT, type Masked, type Redactor } from '../redactor.js'
import { forEachEvent } from './raw-events.js'

/** At most so many windows of all texts wait. */
const MOST_WINDOWS = 8
/** Characters of all events that may wait, whatever their texts. */
const MOST_WAITING = 1024 * 1024
/** The longest list, which is checked when it is complete: characters. */
const LONGEST_LIST = 32 * 1024 * 1024

/** Characters behind the `u` of an escape. They hold no `u` of their own. */
const HEX_DIGITS = 4

/** A text that arrives in pieces. Positions count from its beginning. */
interface Channel {
  /** What tells it apart from others at the same path. */
  by: string
  /** What is kept of it, and the offset of its first character. */
  kept: string
  base: number
  total: number
  /** Matches are known up to this position. */
  decided: number
  masked: Masked[]
  /** Undefined until the beginning shows whether the text is JSON. */
  isJson: boolean | undefined
  /** How far its JSON was scanned, whether a string is open there, and how many characters of an escape are still to come. */
  looked: number
  isInText: boolean
  escape: number
}

interface Piece {
  holder: Holder
  key: string | number
  channel: Channel
  from: number
  to: number
}

interface Waiting {
  raw: string
  data: string
  event: Json
  pieces: Piece[]
  isChanged: boolean
}

/**
 * How the events of a stream are written: server-sent events, lines, one list at the end, or frames of a socket, each a line. What
 * a socket says has no end that would decide the last of a text: an event that tells a text as a whole does.
 */
export type Written = 'events' | 'lines' | 'list' | 'frames'

export class SlidingSink implements Sink {
  private readonly channels = new Map<string, Channel>()
  private readonly queue: Waiting[] = []
  /** Characters of texts that are undecided, and of all events that wait. */
  private held = 0
  private waiting = 0
  private all = ''
  private isFirst = true
  private isBroken = false
  private isCutOff = false

  /** @param fail ends the exchange with the error that the client gets, which `end` then passes */
  constructor(
    private readonly own: Sink,
    private readonly texts: TextPaths,
    private readonly redactor: Redactor,
    private readonly written: Written,
    private readonly fail: (error: GatewayError) => void,
    /** Like `fail`, for an error that is found while the stream ends. */
    private readonly failAtEnd: (error: GatewayError) => void,
  ) {}

  write(chunk: Buffer | string): boolean {
    if (this.isBroken) return true
    if (this.written === 'list') {
      this.all += chunk.toString()
      if (this.all.length <= LONGEST_LIST) return true
      this.all = ''
      this.isBroken = true
      this.isCutOff = true
      this.fail(new GatewayError('upstream', 'The answer is too long to be checked as a list: ask for server-sent events.'))
      return true
    }
    let text: string
    try {
      text = this.take(chunk.toString()) + this.release()
    } catch (thrown) {
      this.breakOff()
      this.fail(asGatewayError(thrown))
      return true
    }
    return text === '' ? true : this.own.write(text)
  }

  end(chunk?: Buffer | string): void {
    // Nothing of a list that is too long was sent, so it cannot end with an error event: it ends unfinished.
    if (this.isCutOff) {
      this.own.destroy()
      return
    }
    if (this.isBroken) {
      this.own.end(chunk)
      return
    }
    let text: string
    try {
      if (this.written === 'list') text = this.list(this.all + (chunk?.toString() ?? ''))
      else {
        const passing = chunk === undefined ? '' : this.take(chunk.toString())
        this.decideAll()
        text = passing + this.release()
      }
    } catch (thrown) {
      this.breakOff()
      this.failAtEnd(asGatewayError(thrown))
      return
    }
    this.own.end(text)
  }

  /** From now on only the failure passes, in `end`; the good events before it leave first. */
  private breakOff(): void {
    this.isBroken = true
    let text = ''
    for (let first = this.queue[0]; first?.pieces.every(({ channel, to }) => to <= channel.decided); first = this.queue[0]) {
      this.queue.shift()
      text += this.rendered(first)
    }
    if (text !== '' && this.written !== 'list') this.own.write(text)
  }

  destroy(): void {
    this.own.destroy()
  }

  onDrain(resume: () => void): void {
    this.own.onDrain(resume)
  }

  /** Takes events; returns those that need not wait. */
  private take(text: string): string {
    let passing = ''
    const each = (raw: string, data: string | undefined): void => {
      const event = data === undefined ? undefined : parsed(data)
      if (event !== undefined) this.accept(raw, data as string, event)
      else if (this.queue.length === 0 || data === undefined) passing += raw
      else {
        this.queue.push({ raw, data: '', event: undefined, pieces: [], isChanged: false })
        this.waiting += raw.length
      }
    }
    // Events without text keep their place in the order, except keep-alives, which nothing waits for.
    if (this.written === 'events') forEachEvent(text, each)
    else for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) each(line, line.trim() === '' ? undefined : line.trim())
    return passing
  }

  private accept(raw: string, data: string, event: Json): void {
    const { texts, redactor } = this
    let isChanged = emptyAt(event, texts.repeats)
    eachText(event, texts.event, (text, holder, key, _path, along) => {
      if (this.written === 'frames') this.settle(this.byOf(along))
      const masked = redactor.whole(text)
      if (masked === text) return
      holder[key] = masked
      isChanged = true
    })
    const pieces: Piece[] = []
    eachText(event, texts.pieces, (text, holder, key, path, along) => {
      const channel = this.channelOf(path, along)
      pieces.push({ holder, key, channel, from: channel.total, to: channel.total + text.length })
      channel.kept += text
      channel.total += text.length
      this.held += text.length
    })
    this.queue.push({ raw, data, event, pieces, isChanged })
    this.waiting += raw.length
    for (const { channel } of pieces)
      if (redactor.isDue(channel.total - channel.decided)) this.decide(channel, channel.total - redactor.window)
  }

  private byOf(along: readonly Holder[]): string {
    return JSON.stringify(along.map(holder => this.texts.by.map(member => plain(holder[member]))))
  }

  /** A text that has been told as a whole goes on no more. */
  private settle(by: string): void {
    for (const [name, channel] of this.channels) {
      if (channel.by !== by) continue
      this.decide(channel, channel.total)
      this.channels.delete(name)
    }
  }

  private channelOf(path: number, along: readonly Holder[]): Channel {
    const by = this.byOf(along)
    const name = `${path} ${by}`
    let channel = this.channels.get(name)
    if (channel === undefined) {
      channel = { by, kept: '', base: 0, total: 0, decided: 0, masked: [], isJson: undefined, looked: 0, isInText: false, escape: 0 }
      this.channels.set(name, channel)
    }
    return channel
  }

  private decideAll(): void {
    for (const channel of this.channels.values()) this.decide(channel, channel.total)
  }

  /** Finds the matches of a text up to a position. Throws if a pattern blocks one. */
  private decide(channel: Channel, to: number): void {
    if (to <= channel.decided) return
    // The first characters show whether the text is JSON.
    channel.isJson ??= beginsAsJson(channel.kept)
    const { base } = channel
    for (const part of this.redactor.parts(channel.kept, channel.decided - base, to - base)) {
      const masked = { ...part, start: part.start + base, end: part.end + base }
      if (channel.isJson && !isInsideText(channel, masked)) throw blocked(part.pattern)
      this.redactor.count(part.pattern)
      channel.masked.push(masked)
      channel.decided = masked.end
    }
    channel.decided = Math.max(channel.decided, to)
    if (channel.isJson) lookUpTo(channel, channel.decided)
    const rest = Math.max(0, channel.decided - base - CONTEXT)
    channel.kept = channel.kept.slice(rest)
    channel.base += rest
  }

  /** The events that need not wait any longer, as text. */
  private release(): string {
    let text = ''
    for (let first = this.queue[0]; first !== undefined; first = this.queue[0]) {
      const open = first.pieces.find(({ channel, to }) => to > channel.decided)
      if (open !== undefined) {
        if (this.held <= MOST_WINDOWS * this.redactor.window && this.waiting <= MOST_WAITING) return text
        // With many texts at once the first one must not hold up the others.
        this.decide(open.channel, open.channel.total)
        continue
      }
      this.queue.shift()
      text += this.rendered(first)
    }
    return text
  }

  private rendered({ raw, data, event, pieces, isChanged: wasChanged }: Waiting): string {
    this.waiting -= raw.length
    let isChanged = wasChanged
    for (const { holder, key, channel, from, to } of pieces) {
      this.held -= to - from
      const text = holder[key] as string
      const masked = withMasks(text, from, to, channel.masked)
      channel.masked = channel.masked.filter(({ end }) => end > to)
      if (masked === text) continue
      holder[key] = masked
      isChanged = true
    }
    if (this.written === 'list') {
      const before = this.isFirst ? '[' : ',\r\n'
      this.isFirst = false
      return before + JSON.stringify(event)
    }
    return isChanged ? withData(raw, data, JSON.stringify(event)) : raw
  }

  private list(text: string): string {
    for (const event of JSON.parse(text) as Json[]) this.accept('', '', event)
    this.decideAll()
    const events = this.release()
    return `${events === '' ? '[' : events}]`
  }
}

/** A range of a text with its matches masked. The mask takes the place where its match begins. */
function withMasks(text: string, from: number, to: number, masked: readonly Masked[]): string {
  let result = ''
  let at = from
  for (const { start, end, pattern } of masked) {
    if (end <= at || start >= to) continue
    result += text.slice(at - from, Math.max(start, at) - from)
    if (start >= from) result += pattern.mask
    at = Math.min(end, to)
  }
  return at === from ? text : result + text.slice(at - from)
}

/** Whether a match lies inside one string of the JSON and cuts no escape, so that it can be replaced. */
function isInsideText(channel: Channel, { start, end }: Masked): boolean {
  lookUpTo(channel, start)
  const part = channel.kept.slice(start - channel.base, end - channel.base)
  if (!channel.isInText || channel.escape > 0 || /["\\]/.test(part)) return false
  channel.looked = end
  return true
}

function lookUpTo(channel: Channel, end: number): void {
  for (; channel.looked < end; channel.looked++) {
    const character = channel.kept[channel.looked - channel.base]
    if (channel.escape > 0) channel.escape = character === 'u' ? HEX_DIGITS : channel.escape - 1
    else if (character === '\\') channel.escape = channel.isInText ? 1 : 0
    else if (character === '"') channel.isInText = !channel.isInText
  }
}

/** The text of an event with other data. */
function withData(raw: string, data: string, json: string): string {
  const at = raw.indexOf(data)
  if (at >= 0) return raw.slice(0, at) + json + raw.slice(at + data.length)
  // Data of several lines is joined into one.
  const lines = raw.split(/\r\n|\r|\n/).filter(line => line !== '' && !line.startsWith('data'))
  return [...lines, `data: ${json}`, '', ''].join('\n')
}

function plain(value: Json): Json {
  return typeof value === 'object' ? null : value
}

/** Undefined if it is not an object: the end of a stream may be a plain word. */
function parsed(data: string): Json {
  try {
    const value: Json = JSON.parse(data)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
