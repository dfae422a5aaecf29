/** The start and end of the benchmark's own servers: a line on standard output when they listen, SIGTERM to stop. */
import uWS from 'uWebSockets.js'

export function listening(app, port) {
  app.listen('127.0.0.1', port, socket => {
    if (!socket) {
      console.error(`cannot listen on port ${port}`)
      process.exit(1)
    }
    console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${uWS.us_socket_local_port(socket)}` }))
  })
  process.on('SIGTERM', () => process.exit(0))
}
