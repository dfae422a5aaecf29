// Parses addresses.

/** Why a process that cannot listen ends. */
export function cannotListen(at: string, reason = 'the port is taken, or this machine does not have the address'): string {
  return `Cannot listen on ${at}: ${reason}.`
}

/** Whether a text is the number of a port. */
export const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) <= 65_535

/** `host:port`, where a host with colons is in brackets. */
export function address(listen: string): { host: string; port: number } {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}

/** The URL of an address that is listened on. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
