/**
 * The model provider of the benchmark: fixed bytes, computed before the first request, as cheaply as can be.
 *
 * What it answers depends on a reserved model name, found anywhere in the path or the body: `bench-json`,
 * `bench-stream` (eight events at a time, as fast as they go), `bench-paced` and `bench-slow` (an event every 20 or
 * 100 ms). Embeddings and a WebSocket that returns
 * every frame have paths of their own. Started alone it prints `{"msg":"listening","url":…}`; nothing else is needed
 * from it, so another simulator that knows these names can stand in its place.
 */
import uWS from 'uWebSockets.js'
import { dialects, PACES } from './dialects.mjs'
import { listening } from './listening.mjs'

/** How many events of an unpaced stream are written at once. */
const BURST = 8

const JSON_TYPE = 'application/json'
const STREAM_TYPE = 'text/event-stream; charset=utf-8'

/** What is due is counted from the stream's own start, so a late tick sends more instead of stretching the stream. */
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

export function upstream() {
  const pacers = Object.fromEntries(Object.entries(PACES).map(([kind, pace]) => [kind, pacer(pace)]))
  const app = uWS.App()

  /** Reads the whole body, then answers. */
  function post(path, respond) {
    app.post(path, (res, req) => {
      const url = req.getUrl()
      const chunks = []
      let gone = false
      let forget
      res.onAborted(() => {
        gone = true
        forget?.()
      })
      res.onData((chunk, last) => {
        chunks.push(last && chunks.length === 0 ? Buffer.from(chunk) : Buffer.from(chunk.slice(0)))
        if (!last || gone) return
        forget = respond(res, url, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
      })
    })
  }

  /** nginx is asked not to gather this answer. */
  const streamHead = (res) => res.writeHeader('content-type', STREAM_TYPE).writeHeader('cache-control', 'no-cache').writeHeader('x-accel-buffering', 'no')

  function paced(res, events, pacer) {
    res.cork(() => streamHead(res))
    return pacer.add(res, events)
  }

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

  const json = (res, body) => void res.cork(() => res.writeHeader('content-type', JSON_TYPE).end(body))

  for (const [name, path] of [['chat', '/v1/chat/completions'], ['messages', '/v1/messages'], ['generate', '/v1beta/models/*']]) {
    const body = JSON.stringify(dialects[name].answer)
    const events = dialects[name].events(false)
    const eventsAndUsage = dialects[name].events(true)
    post(path, (res, url, sent) => {
      const asked = kind(url) ?? kind(sent)
      if (asked === 'json') return json(res, body)
      const stream = sent.includes('include_usage') ? eventsAndUsage : events
      if (asked === 'stream') return unpaced(res, stream)
      if (pacers[asked]) return paced(res, stream, pacers[asked])
      res.cork(() => res.writeStatus('404 Not Found').writeHeader('content-type', JSON_TYPE).end('{"error":{"message":"not a model of the benchmark"}}'))
    })
  }

  const vector = JSON.stringify(dialects.embeddings.answer)
  post('/v1/embeddings', (res) => json(res, vector))

  app.ws('/v1/realtime', {
    idleTimeout: 60,
    maxBackpressure: 16 * 1024 * 1024,
    upgrade(res, req, context) {
      const offered = req.getHeader('sec-websocket-protocol')
      res.upgrade({}, req.getHeader('sec-websocket-key'), offered.includes('realtime') ? 'realtime' : '', req.getHeader('sec-websocket-extensions'), context)
    },
    message: (ws, frame, binary) => void ws.send(frame, binary),
  })
  return app
}

const MARK = 'bench-'

/** @param {string | Buffer} text @returns {string | undefined} what stands behind the first `bench-` */
function kind(text) {
  const at = text.indexOf(MARK)
  return at < 0 ? undefined : /^[a-z]+/.exec(String(text.slice(at + MARK.length, at + MARK.length + 16)))?.[0]
}

listening(upstream(), Number(process.argv[2] ?? 0))
