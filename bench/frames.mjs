/** WebSocket frames: each connection sends one, waits for its echo, and sends the next; both directions count. */
import WebSocket from 'ws'
import { contenders } from './contenders.mjs'
import { modelName } from './gateway-config.mjs'
import { cpu } from './processes.mjs'

const FRAME = JSON.stringify({ type: 'input_audio_buffer.append', audio: Buffer.alloc(480, 7).toString('base64') })

/** @returns {Promise<WebSocket>} */
function open(url, headers) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, ['realtime'], { headers, perMessageDeflate: false, handshakeTimeout: 5000 })
    socket.once('open', () => resolve(socket))
    socket.once('unexpected-response', (_, answer) => (answer.resume(), reject(new Error(`no realtime route: HTTP ${answer.statusCode}`))))
    socket.once('error', reject)
  })
}

/** Sends frames until the time is over. @returns {Promise<number>} round trips */
function play(socket, until) {
  return new Promise((resolve, reject) => {
    // A closed socket emits no further event.
    if (socket.readyState !== WebSocket.OPEN) return reject(new Error('a socket closed before it was used'))
    let trips = 0
    socket.on('message', data => {
      if (data.length !== FRAME.length || data.toString() !== FRAME) return reject(new Error('a frame came back changed'))
      trips++
      if (performance.now() < until) return socket.send(FRAME)
      socket.removeAllListeners('message')
      resolve(trips)
    })
    socket.once('close', code => reject(new Error(`closed with ${code}`)))
    socket.send(FRAME)
  })
}

async function measure(sockets, running, seconds) {
  const pids = running.pids()
  const before = cpu(pids)
  const until = performance.now() + seconds * 1000
  const trips = await Promise.all(sockets.map(socket => play(socket, until)))
  for (const socket of sockets) socket.removeAllListeners('close')
  const frames = 2 * trips.reduce((sum, n) => sum + n, 0)
  const used = cpu(pids) - before
  return {
    frameRate: frames / seconds,
    cpuFrame: pids.length > 0 ? used / frames : NaN,
    core: pids.length > 0 ? used / 1e4 / seconds : NaN,
  }
}

export async function frames(workload, bench) {
  const rows = []
  for (const who of workload.who) {
    const row = { who, label: contenders[who].title, samples: { frameRate: [], cpuFrame: [], core: [] }, sockets: [] }
    try {
      row.running = await bench.running(who)
      const url = `${row.running.url.replace('http:', 'ws:')}/v1/realtime?model=${modelName(workload)}`
      const headers = contenders[who].headers({ upstreamDialect: 'chat' }, bench)
      for (let i = 0; i < workload.concurrency; i++) row.sockets.push(await open(url, headers))
    } catch (error) {
      row.skipped = error.message
    }
    rows.push(row)
  }
  for (let round = 0; round < bench.rounds; round++) {
    for (const row of rows) {
      if (row.skipped) continue
      try {
        const values = await measure(row.sockets, row.running, bench.seconds)
        for (const [name, value] of Object.entries(values)) row.samples[name].push(value)
      } catch (error) {
        row.skipped = error.message
      }
    }
  }
  for (const { sockets } of rows) for (const socket of sockets) socket.terminate()
  return rows.map(({ who, label, skipped, samples }) => ({ who, label, skipped, samples }))
}
