// The form of a handler of the admin API, and what handlers share.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../audit.js'
import type { Changes } from '../../keys/changes.js'
import type { Store } from '../../store/store.js'
import type { Worker } from '../../workers.js'
import type { ApiDocument } from '../document.js'
import type { FirstToken } from '../first-token.js'

/** A request that has been checked against the document, and may be executed. */
export interface Call {
  store: Store
  actor: Actor
  request: FastifyRequest
  reply: FastifyReply
}

export type Handler = (call: Call) => unknown

/** Handlers by the ids of their operations. */
export type Handlers = Readonly<Record<string, Handler>>

export interface HandlerOptions {
  api: ApiDocument
  currency: string
  changes(): Changes | undefined
  workers(): Worker[]
  first: FirstToken
}

export interface PageQuery {
  after?: string
  limit: number
}

export interface RangeQuery {
  from?: number
  to?: number
}

/** Waits for a write, and then until all processes of this instance know it. */
export type Publish = <Result>(write: Promise<Result>) => Promise<Result>

export const publisher =
  (changes: () => Changes | undefined): Publish =>
  async write => {
    const result = await write
    await changes()?.check()
    return result
  }

export const queryOf = <Query>({ request }: Call): Query => request.query as Query

export const bodyOf = <Body>({ request }: Call): Body => request.body as Body

/** The name, or the id, in the path. */
export const nameOf = ({ request }: Call): string => (request.params as { name: string }).name

/** The version in the request; undefined if it has none. */
export function versionOf({ request }: Call): number | undefined {
  const match = (request.headers as { 'if-match'?: string })['if-match']
  return match === undefined ? undefined : Number(match.replaceAll('"', ''))
}
