// The interface of an official client in the tests: each client sends the same requests in its own way, and returns its turns
// as it got them. `Item` is a piece of the client's history, `Event` one of its stream.

import type { Dialect } from '../gateway.js'

export interface Tool {
  name: string
  description?: string
  parameters?: object
}

export interface Ask<Item> {
  model: string
  history: Item[]
  system?: string
  tools?: Tool[]
  choice?: 'auto' | 'any' | 'none' | { name: string }
  /** One call at a time. */
  isSerial?: boolean
  schema?: object
  reasons?: boolean
  limit?: number
  stops?: string[]
  signal?: AbortSignal
}

export interface Call {
  id: string
  name: string
  args: unknown
}

export interface Answer<Item> {
  text: string
  thought: string
  calls: Call[]
  finish: string
  usage: { input: number; output: number; cached: number; written: number | undefined; reasoning: number | undefined }
  /** The answer as this client would send it back. */
  said: Item[]
}

/** Media are base64 or an address. */
export type Said = string | { image: string } | { document: string }

/** Failures that a provider's status can mean to a client. */
export type Kind = 'invalid_request' | 'not_found' | 'conflict' | 'too_large' | 'rate_limit' | 'upstream' | 'overloaded'

export interface Client<Item, Event> {
  whole(ask: Ask<Item>): Promise<Answer<Item>>
  /** The stream as the SDK's own helper folds it. */
  folded(ask: Ask<Item>): Promise<Answer<Item>>
  /** The stream as it comes. */
  events(ask: Ask<Item>): AsyncIterable<Event>
}

export interface Speaker<Item, Event> {
  dialect: Dialect
  /** How often the client retries. */
  connect(url: string, key: string, retries?: number): Client<Item, Event>
  user(...parts: Said[]): Item[]
  /** `failed` says so where the dialect can. */
  results(list: { call: Call; text: string; failed?: boolean }[]): Item[]
  /** New text of an event. */
  textOf(event: Event): string
  /** Whether the event says that the answer is complete. */
  ends(event: Event): boolean
  /** The words for why an answer ended. */
  finish: Record<'stop' | 'length' | 'tool' | 'filter', string>
  /** The SDK's class of each error in an answer, and of the error for a broken connection. */
  errors: { told: abstract new (...args: never[]) => Error; broken?: abstract new (...args: never[]) => Error }
  /** What an error of each kind is to the SDK. */
  kinds: Record<Kind, { of: abstract new (...args: never[]) => Error; like: object }>
  /** When to come again, if the SDK keeps what the answer said. */
  retryAfter?(error: unknown): string | undefined
}

export const isAddress = (source: string): boolean => source.startsWith('http')
