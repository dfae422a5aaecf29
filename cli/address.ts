// Addresses as they are written.

/** `host:port`, where a host with colons stands in brackets. */
export function address(listen: string): { host: string; port: number } {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}
