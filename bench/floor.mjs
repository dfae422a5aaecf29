/**
 * The floor: the cost of a bare relay of uWebSockets.js and undici that checks nothing.
 * `node bench/floor.mjs UPSTREAM [PORT]`. It makes one write for each read of the upstream, and pauses the upstream while
 * the client is slow. It uses undici's own low-level handler (`onHeaders`, `onData`), which has no wrapper around it.
 */

import uWS from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import { Pool } from 'undici'
import { listening } from './listening.mjs'

const pool = new Pool(process.argv[2], { connections: 10_000 })

function relay(res, path, headers, body) {
  let head, type, abort, resume
  let gathered = []
  let gone = false,
    started = false,
    ended = false,
    full = false

  function write() {
    if (gone) return
    res.cork(() => {
      if (!started) res.writeStatus(head).writeHeader('content-type', type)
      started = true
      const bytes = gathered.length === 1 ? gathered[0] : Buffer.concat(gathered)
      if (ended) res.end(bytes)
      else full = !res.write(bytes)
    })
    gathered = []
  }

  res.onWritable(() => ((full = false), resume(), true))
  pool.dispatch(
    { method: 'POST', path, headers, body },
    {
      onConnect: stop => (gone ? stop() : (abort = stop)),
      onHeaders(status, raw, unpause) {
        head = `${status} ${STATUS_CODES[status]}`
        type =
          raw[raw.findIndex(name => name.length === 12 && name.toString('latin1').toLowerCase() === 'content-type') + 1].toString('latin1')
        resume = unpause
      },
      onData(chunk) {
        if (gathered.push(chunk) === 1) queueMicrotask(write)
        return !full
      },
      onComplete() {
        ended = true
        if (gathered.length === 0) queueMicrotask(write)
      },
      onError: () => gone || res.close(),
    },
  )
  return () => ((gone = true), abort?.())
}

const app = uWS.App().post('/*', (res, req) => {
  const path = req.getQuery() ? `${req.getUrl()}?${req.getQuery()}` : req.getUrl()
  const headers = { 'content-type': req.getHeader('content-type'), authorization: req.getHeader('authorization') }
  const body = []
  let stop
  let aborted = false
  res.onAborted(() => ((aborted = true), stop?.()))
  res.onData((chunk, last) => {
    body.push(Buffer.from(chunk.slice(0)))
    if (last && !aborted) stop = relay(res, path, headers, body.length === 1 ? body[0] : Buffer.concat(body))
  })
})
listening(app, Number(process.argv[3] ?? 0))
