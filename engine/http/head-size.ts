// The server's library keeps 4 KiB of a head that comes in several packets, and refuses a longer one, which a signed token or
// cookies can make. It reads the size from the environment when it is loaded: import this before it. 16 KiB is what Node's
// own server takes.

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(16 * 1024)
