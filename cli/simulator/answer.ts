// Turns a script into bytes and delays: everything about an answer except the connection.

import { STATUS_CODES } from 'node:http'
import { type Range, rangeOf } from './content.js'
import type { Dialect, Framing } from './dialects.js'
import type { FilledScript, WholeScript } from './script.js'

export type Answer = {
  status: string
  headers: [string, string][]
  /** Milliseconds before anything is written. */
  delay: number
  pieces: Buffer[]
  /** In place of pieces: this range of generated content. */
  file?: Range
  /** Milliseconds before each piece; the last one repeats. 0 means: in a tick of its own. */
  waits: number[]
  /** Then the body ends, or the socket is destroyed, or nothing more is sent. */
  then: 'end' | 'destroy' | 'silence'
  /** The length is announced: one piece is the whole body. */
  sized: boolean
}

const HALF = 0.5

export function answer(
  dialect: Dialect,
  framing: Framing | undefined,
  script: FilledScript,
  whole: WholeScript,
  streams: boolean,
  range = '',
): Answer {
  const { status } = script
  if (script.raw !== undefined)
    return plain(dialect, script, status, typeof script.raw === 'string' ? Buffer.from(script.raw) : Buffer.from(script.raw), 'text/plain')
  if (script.body !== undefined)
    return plain(dialect, script, status, text(script.body), typeof script.body === 'string' ? 'text/plain' : 'application/json')
  if (status >= 400) return refusal(dialect, script, status)
  if (streams && framing && (script.events || dialect.stream)) return stream(dialect, framing, script, whole)
  if (script.fail_after !== undefined) return refusal(dialect, script, script.error.status)
  const said = dialect.answer(whole)
  if (!dialect.answersBytes) return plain(dialect, script, status, text(said), 'application/json')
  const { type, text: words, base64, size } = said as { type: string; text?: string; base64?: string; size?: number }
  if (size !== undefined) return file(dialect, script, type, size, range)
  return plain(dialect, script, status, base64 === undefined ? text(words) : Buffer.from(base64, 'base64'), type)
}

/** A file, or the requested part of it. */
function file(dialect: Dialect, script: FilledScript, type: string, size: number, range: string): Answer {
  const part = rangeOf(range, size)
  if (part === 'none') {
    const refused = refusal(dialect, script, 416)
    refused.headers.push(['content-range', `bytes */${size}`])
    return refused
  }
  const whole = part === 'whole'
  const wanted = whole ? { from: 0, length: size } : part
  const answer = head(dialect, script, whole ? script.status : 206, type)
  answer.headers.push(['accept-ranges', 'bytes'], ['etag', `"${size}"`])
  if (!whole) answer.headers.push(['content-range', `bytes ${wanted.from}-${wanted.from + wanted.length - 1}/${size}`])
  const then = script.stall_after !== undefined ? 'silence' : script.cut_after !== undefined ? 'destroy' : 'end'
  return { ...answer, pieces: [], file: wanted, waits: [script.pace ?? 0], then, sized: true }
}

/** An error of the simulator itself: the request is wrong. */
export function refusal(dialect: Dialect, script: FilledScript, status: number): Answer {
  const { retry_after } = script.error
  const answer = plain(dialect, script, status, text(dialect.error(failure(script, status))), 'application/json')
  if (retry_after !== undefined) answer.headers.push(['retry-after', String(retry_after)])
  return answer
}

function failure(script: FilledScript, status: number): Record<string, unknown> {
  return { message: `The simulator answers ${status}, as its scenario says.`, ...script.error, status }
}

/** A body that is not a stream. Positions in a script's events refer to its middle here. */
function plain(dialect: Dialect, script: FilledScript, status: number, body: Buffer, type: string): Answer {
  const broken = script.cut_after ?? script.torn_after ?? script.stall_after
  const half = body.subarray(0, Math.floor(body.length * HALF))
  const sent = broken === 0 ? Buffer.alloc(0) : broken !== undefined || script.malformed_at !== undefined ? half : body
  const then = broken === undefined ? 'end' : script.stall_after === undefined ? 'destroy' : 'silence'
  const { pieces, waits } = pieced([sent], script)
  return { ...head(dialect, script, status, type), pieces, waits, then, sized: then === 'end' && script.split === undefined }
}

function stream(dialect: Dialect, framing: Framing, script: FilledScript, whole: WholeScript): Answer {
  const events = script.events ?? (dialect.stream?.(whole) as unknown[])
  const frame = framer(framing, script)
  const proof = script.no_end ? events.findIndex(framing.ends) : -1
  const frames = (proof < 0 ? events : events.slice(0, proof)).map((event, index) => frame(event, index, script.malformed_at === index + 1))
  const stop = script.cut_after ?? script.torn_after ?? script.stall_after ?? script.fail_after
  const sent = frames.slice(0, stop)
  const next = script.torn_after === undefined ? undefined : frames[script.torn_after]
  if (next) sent.push(next.subarray(0, Math.floor(next.length * HALF)))
  const fails = stop !== undefined && stop === script.fail_after
  if (fails) sent.push(frame(dialect.failure(failure(script, script.error.status)), sent.length, false))
  const then = fails || stop === undefined ? 'end' : script.stall_after === stop ? 'silence' : 'destroy'
  if (then === 'end' && framing.kind === 'json_array') sent.push(Buffer.from(']'))
  else if (stop === undefined && !script.no_end && framing.sentinel !== undefined) sent.push(lines([`data: ${framing.sentinel}`], script))
  const { pieces, waits } = pieced(sent, script)
  const type = TYPES[framing.kind]
  const answer = head(dialect, script, script.status, type)
  answer.headers.push(['cache-control', 'no-cache'])
  return { ...answer, pieces, waits, then, sized: false }
}

const TYPES = { sse: 'text/event-stream; charset=utf-8', ndjson: 'application/x-ndjson', json_array: 'application/json' }

function framer(framing: Framing, script: FilledScript): (event: unknown, index: number, broken: boolean) => Buffer {
  return (event, index, broken) => {
    const json = typeof event === 'string' ? event : JSON.stringify(event)
    const data = broken ? json.slice(0, Math.ceil(json.length * HALF)) : json
    if (framing.kind === 'json_array') return Buffer.from(`${index === 0 ? '[' : ',\n'}${data}`)
    if (framing.kind === 'ndjson') return Buffer.from(`${data}\n`)
    const name = framing.eventLine === undefined ? undefined : (event as Record<string, unknown>)[framing.eventLine]
    const written = data.split('\n').map(line => `data: ${line}`)
    return lines([...(typeof name === 'string' ? [`event: ${name}`] : []), ...written], script, script.keep_alive ? framing.keepAlive : '')
  }
}

function lines(written: string[], script: FilledScript, before = ''): Buffer {
  const block = `${before}${written.join('\n')}\n\n`
  return Buffer.from(script.line_end === 'crlf' ? block.replaceAll('\n', '\r\n') : block)
}

/** Cuts the bytes as the script says; without delays everything is one piece and costs one write. */
function pieced(frames: Buffer[], script: FilledScript): { pieces: Buffer[]; waits: number[] } {
  if (script.split !== undefined) {
    const size = script.split
    const all = Buffer.concat(frames)
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.subarray(index * size, (index + 1) * size))
    return { pieces, waits: script.delays ?? [0, script.pace ?? 0] }
  }
  const waits = script.delays ?? (script.pace === undefined ? undefined : [0, script.pace])
  return waits
    ? { pieces: frames.filter(frame => frame.length > 0), waits }
    : { pieces: frames.length > 0 ? [Buffer.concat(frames)] : [], waits: [0] }
}

function head(dialect: Dialect, script: FilledScript, status: number, type: string): Pick<Answer, 'status' | 'headers' | 'delay'> {
  const given = script.headers
  const own = Object.entries({ 'content-type': type, ...Object.fromEntries(dialect.headers) }).filter(([name]) => !(name in given))
  return { status: `${status} ${STATUS_CODES[status] ?? 'Error'}`, headers: [...own, ...Object.entries(given)], delay: script.delay }
}

function text(value: unknown): Buffer {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
}
