// A request that the simulator recorded, for tests.

import type { Part } from './form.js'

export type RecordedRequest = {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  /** For a form, the descriptions of its parts. */
  body: string
  parts?: Part[]
  /** The frames that a socket received: texts, or the lengths of bytes. */
  frames?: (string | number)[]
  /** The code of the other side's close frame. */
  closed?: number
  /** When the headers arrived: milliseconds since 1970. */
  at: number
  /** The client closed the connection before it had the whole answer. */
  aborted: boolean
}
