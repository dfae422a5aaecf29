/** Preloaded into a peer that can only listen everywhere: on this machine it listens on loopback. */
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (port, ...rest) {
  const ready = rest.find(argument => typeof argument === 'function')
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ready)
}
