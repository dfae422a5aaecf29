// An upstream's answer to an attempt, as far as it has been read.

import type { Json } from '../plan.js'
import type { UpstreamResponse } from '../upstream/call.js'
import type { Attempt } from './attempt.js'
import type { Rendered } from './render.js'

export type Outcome = { attempt: Attempt; rendered: Omit<Rendered, 'request'> } & (
  | { kind: 'stream'; response: UpstreamResponse /** Events that were read to see that it begins well. */; first: Buffer | undefined }
  | { kind: 'bytes'; response: UpstreamResponse }
  /** A whole JSON body; `body` is the part that the engine needs, and `text` is the client's. */
  | { kind: 'whole'; response: UpstreamResponse; body: Json; text: Buffer | string }
  /**
   * The client's answer, joined from the answers of several calls, or of none (`isUnasked`), which says nothing about the target;
   * `isSealed`: its ids are the client's.
   */
  | { kind: 'joined'; text: string; isSealed?: boolean; isUnasked?: boolean }
)
