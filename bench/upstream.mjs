/**
 * The model provider of the benchmark: fixed bytes, computed before the first request, with the least possible work.
 *
 * The answer depends on a reserved model name, found anywhere in the path or the body: `bench-json`,
 * `bench-stream` (eight events at a time, as fast as they go), `bench-paced` and `bench-slow` (an event every 20 or
 * 100 ms). Embeddings and a WebSocket that returns every frame have paths of their own. Started alone it prints
 * `{"msg":"listening","url":…}`; nothing else is needed from it, so another simulator with these names can replace
 * it.
 */
import uWS from 'uWebSockets.js'
import { dialects, PACES } from './dialects.mjs'
import { listening } from './listening.mjs'

/** How many events of an unpaced stream are written at once. */
const BURST = 8

const JSON_TYPE = 'application/json'
const STREAM_TYPE = 'text/event-stream; charset=utf-8'

/** Due events are counted from the stream's own start, so a late tick sends more instead of stretching the stream. */
function pacer(pace) {
  const slots = Array.from({ length: pace }, () => new Set())
  let at = Math.floor(performance.now())
  let count = 0

  function feed(stream, now) {
    const due = Math.min(stream.events.length, 1 + Math.floor((now - stream.started) / pace))
    if (due === stream.sent) return
    const bytes = stream.events.slice(stream.sent, due).join('')
    stream.sent = due
    if (due === stream.events.length) {
      remove(stream)
      stream.res.cork(() => stream.res.end(bytes))
    } else {
      stream.res.cork(() => stream.res.write(bytes))
    }
  }

  function remove(stream) {
    if (stream.slot.delete(stream)) count--
  }

  setInterval(() => {
    const now = performance.now()
    const from = Math.max(at + 1, Math.floor(now) - pace + 1)
    at = Math.floor(now)
    if (count === 0) return
    for (let tick = from; tick <= at; tick++) for (const stream of slots[tick % pace]) feed(stream, now)
  }, 1)

  return {
    add(res, events) {
      const started = performance.now()
      const stream = { res, events, started, sent: 0, slot: slots[Math.ceil(started) % pace] }
      stream.slot.add(stream)
      count++
      feed(stream, started)
      return () => remove(stream)
    },
  }
}

/** Tells nginx not to buffer a stream. */
const streamHead = res =>
  res.writeHeader('content-type', STREAM_TYPE).writeHeader('cache-control', 'no-cache').writeHeader('x-accel-buffering', 'no')

const json = (res, body) => void res.cork(() => res.writeHeader('content-type', JSON_TYPE).end(body))

const unknown = res =>
  void res.cork(() =>
    res.writeStatus('404 Not Found').writeHeader('content-type', JSON_TYPE).end('{"error":{"message":"nothing of the benchmark"}}'),
  )

/** Unpaced, but not in one piece: some events, each a chunk, then the next at the loop's next turn. */
function unpaced(res, events) {
  let at = 0
  let gone = false
  const burst = () => {
    if (gone) return
    res.cork(() => {
      if (at === 0) streamHead(res)
      const end = Math.min(at + BURST, events.length)
      while (at < end - 1) res.write(events[at++])
      if (end === events.length) res.end(events[at++])
      else res.write(events[at++])
    })
    if (at < events.length) setImmediate(burst)
  }
  burst()
  return () => (gone = true)
}

function paced(res, events, pacer) {
  res.cork(() => streamHead(res))
  return pacer.add(res, events)
}

const pacers = Object.fromEntries(Object.entries(PACES).map(([kind, pace]) => [kind, pacer(pace)]))

/** The answers of a dialect, ready to be sent. */
const ready = name => {
  const { answer, events } = dialects[name]
  return { body: JSON.stringify(answer), events: events?.(false), eventsAndUsage: events?.(true) }
}
const chat = ready('chat')
const messages = ready('messages')
const generate = ready('generate')
const embeddings = ready('embeddings')

/** Providers differ in the prefix of a path. */
function spoken(url) {
  if (url.endsWith('/chat/completions')) return chat
  if (url.endsWith('/messages')) return messages
  if (/:\w*[gG]enerateContent$/.test(url)) return generate
  return undefined
}

/** @returns {(() => void) | undefined} a function that stops a paced answer */
function respond(res, url, sent) {
  if (url.endsWith('/embeddings')) return json(res, embeddings.body)
  const dialect = spoken(url)
  const asked = kind(url) ?? kind(sent)
  if (!dialect || !asked) return unknown(res)
  if (asked === 'json') return json(res, dialect.body)
  const events = sent.includes('include_usage') ? dialect.eventsAndUsage : dialect.events
  if (asked === 'stream') return unpaced(res, events)
  return pacers[asked] ? paced(res, events, pacers[asked]) : unknown(res)
}

const MARK = 'bench-'

/** @param {string | Buffer} text @returns {string | undefined} the text after the first `bench-` */
function kind(text) {
  const at = text.indexOf(MARK)
  return at < 0 ? undefined : /^[a-z]+/.exec(String(text.slice(at + MARK.length, at + MARK.length + 16)))?.[0]
}

const app = uWS.App()

app.post('/*', (res, req) => {
  const url = req.getUrl()
  const chunks = []
  let gone = false
  let stop
  res.onAborted(() => {
    gone = true
    stop?.()
  })
  res.onData((chunk, last) => {
    // the last one is read before it is removed; the others are kept
    chunks.push(Buffer.from(last ? chunk : chunk.slice(0)))
    if (last && !gone) stop = respond(res, url, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
  })
})

app.ws('/v1/realtime', {
  idleTimeout: 60,
  maxBackpressure: 16 * 1024 * 1024,
  upgrade(res, req, context) {
    const offered = req.getHeader('sec-websocket-protocol')
    res.upgrade(
      {},
      req.getHeader('sec-websocket-key'),
      offered.includes('realtime') ? 'realtime' : '',
      req.getHeader('sec-websocket-extensions'),
      context,
    )
  },
  message: (ws, frame, binary) => void ws.send(frame, binary),
})

listening(app, Number(process.argv[2] ?? 0))
