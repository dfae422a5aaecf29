// Parses addresses.

/** Why a process that cannot listen ends. */
export function cannotListen(at: string, reason = 'the port is taken, or this machine does not have the address'): string {
  return `Cannot listen on ${at}: ${reason}.`
}

/** Whether a text is the number of a port. */
export const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535

interface Address {
  host: string
  port: number
}

/** `host:port`, where a host with colons is in brackets. */
export function address(listen: string): Address {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}

/** The URL of an address that is listened on. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Whether two sockets cannot listen on these addresses. Port 0 is a different port each time. */
export function collide(one: Address, other: Address): boolean {
  return one.port !== 0 && one.port === other.port && (one.host === other.host || isEvery(one.host) || isEvery(other.host))
}

/** Whether a socket on it has every address of the machine. */
const isEvery = (host: string): boolean => host === '0.0.0.0' || host === '::'
