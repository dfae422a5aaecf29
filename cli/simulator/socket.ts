// A socket: sends its dialect's first frame, echoes every frame except those that the dialect replies to, and closes as its
// model's name says.

import type { HttpRequest, us_socket_context_t, WebSocket, WebSocketBehavior } from 'uWebSockets.js'
import { refusal } from './answer.js'
import { content } from './content.js'
import type { Dialect, Match } from './dialects.js'
import { filledScript } from './grammar.js'
import type { RecordedRequest } from './recorded-request.js'
import type { Scenes } from './scenes.js'
import { completed, type FilledScript, type WholeScript } from './script.js'

type Session = {
  dialect: Dialect
  script: FilledScript
  whole: WholeScript
  record: RecordedRequest | undefined
  frames: number
  /** The requested bytes that are still to be sent. */
  rest: Iterator<Buffer> | undefined
}

type Surroundings = {
  find(method: string, path: string, query: string): Match | string[]
  cast: Scenes
  record(method: string, req: HttpRequest): RecordedRequest | undefined
}

const LARGEST_FRAME = 64 * 1024 * 1024
const WAITING = 1024 * 1024
const NOTHING_ASKED = { tools: [], results: [], calls: 0, turn: '', serial: false, schema: undefined, text: '' }

export function sockets({ find, cast, record }: Surroundings): WebSocketBehavior<Session> {
  return {
    maxPayloadLength: LARGEST_FRAME,
    maxBackpressure: LARGEST_FRAME,
    idleTimeout: 0,
    sendPingsAutomatically: false,
    upgrade(res, req, context) {
      const asked = record('GET', req)
      const [path, query] = [req.getUrl(), req.getQuery() ?? '']
      const found = find('GET', path, query)
      if (Array.isArray(found) || !found.dialect.isSocket) {
        res.writeStatus('404 Not Found').end()
        return
      }
      const { dialect } = found
      const model = found.query.model ?? ''
      const script = cast.find(model, path, () => NOTHING_ASKED)
      const status = script?.status ?? 404
      if (!script || status >= 400) {
        const {
          headers,
          pieces,
          status: line,
        } = refusal(dialect, script ?? filledScript({ error: { message: `The simulator has no model ${model}.` } }), status)
        res.writeStatus(line)
        for (const [name, value] of headers) res.writeHeader(name, value)
        res.end(Buffer.concat(pieces))
        return
      }
      const session: Session = {
        dialect,
        script,
        whole: completed(script, model, {}, NOTHING_ASKED),
        record: asked,
        frames: 0,
        rest: undefined,
      }
      if (asked) asked.frames = []
      const offered = req.getHeader('sec-websocket-protocol')
      res.upgrade(session, req.getHeader('sec-websocket-key'), offered.split(',')[0]?.trim() ?? '', '', context as us_socket_context_t)
    },
    open(ws) {
      const { dialect, whole } = ws.getUserData()
      for (const event of listed(dialect.answer(whole))) ws.send(JSON.stringify(event), false)
    },
    message(ws, message, isBinary) {
      const session = ws.getUserData()
      const { script, record: asked } = session
      session.frames++
      asked?.frames?.push(isBinary ? message.byteLength : Buffer.from(message).toString())
      if (script.cut_after !== undefined && session.frames > script.cut_after) return ws.close()
      for (const frame of repliesTo(session, message, isBinary)) ws.send(frame, isBinary)
      if (script.bytes !== undefined && session.rest === undefined) {
        session.rest = content(script.bytes)
        give(ws)
      }
      if (script.close !== undefined) ws.end(script.close, 'as its scenario says')
    },
    drain: give,
    close(ws, code) {
      const { record: asked } = ws.getUserData()
      if (asked) asked.closed = code
    },
  }
}

/** The dialect's reply to a frame that it knows; other frames are echoed. */
function repliesTo({ dialect, whole }: Session, message: ArrayBuffer, isBinary: boolean): (string | ArrayBuffer)[] {
  if (isBinary || !dialect.reply) return [message]
  let frame: unknown
  try {
    frame = JSON.parse(Buffer.from(message).toString())
  } catch {
    return [message]
  }
  const reply = dialect.reply(frame, { script: whole })
  return reply === undefined ? [message] : listed(reply).map(event => JSON.stringify(event))
}

/** Sends as many bytes as the other side reads. */
function give(ws: WebSocket<Session>): void {
  const { rest } = ws.getUserData()
  while (rest && ws.getBufferedAmount() < WAITING) {
    const next = rest.next()
    if (next.done) return
    ws.send(next.value, true)
  }
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}
