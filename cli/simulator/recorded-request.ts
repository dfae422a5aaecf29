// What the simulator remembers of a request, for tests.

import type { Part } from './form.js'

export type RecordedRequest = {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  /** Of a form there is no text, but what each part was. */
  body: string
  parts?: Part[]
  /** The frames that a socket received: texts, or how long the bytes were. */
  frames?: (string | number)[]
  /** The code that the other side closed a socket with. */
  closed?: number
  /** Milliseconds since 1970 when the headers were there. */
  at: number
  /** The client hung up before it had the whole answer. */
  aborted: boolean
}
