// What the properties need to know of a dialect beyond its schemas: one small file for each dialect, with one interface, so
// that a property is written once and holds for every client on every provider.

import type fc from 'fast-check'
import type { Schema } from '../../../codegen/read/schemas.js'
import { chat } from './chat.js'
import { cohereChat } from './cohere-chat.js'
import { completions } from './completions.js'
import { generate } from './generate.js'
import { messages } from './messages.js'
import { ollama } from './ollama.js'
import { ollamaGenerate } from './ollama-generate.js'
import { responses } from './responses.js'

export type Values = Record<string, unknown>

/** Cuts a text into pieces, empty ones among them, that make it up again. */
export type Cut = (text: string) => string[]

/** What an answer says, in words of no dialect. */
export interface Said {
  text: string
  reasoning: string
  /** What proves the reasoning, as its provider sent it. */
  signatures: string[]
  /** Arguments that are no object mean nothing, which is null; `bytes` is their text where the dialect has one. */
  calls: { name: string; arguments: unknown; bytes?: string; mayBeCut?: boolean }[]
  /** How it ended: by itself, at the limit, or refused. With calls it ends for them. */
  stop: 'end' | 'limit' | 'refused'
  usage: { input: number; output: number; cached: number; reasoning: number }
}

/** What a conversation is about, in words of no dialect. */
export interface Conversation {
  system?: string
  turns: Turn[]
  tools: { name: string; description?: string; schema: Values }[]
  temperature?: number
  top_p?: number
  limit: number
  stops?: string[]
}
/** A turn of the user's, or one of the model's with the results of its calls. */
export type Turn =
  | { by: 'user'; text: string }
  | { by: 'model'; text: string; calls: { id: string; name: string; arguments: Values; result: string }[] }

/**
 * What a dialect has no words for. Of a conversation: instructions, all turns but the last, tools, stop sequences, the ids of
 * calls. Of an answer: thoughts, their proofs, calls, calls that may have been cut off, that it was refused, and two of its counts.
 */
export type Missing =
  | 'system'
  | 'history'
  | 'tools'
  | 'stops'
  | 'ids'
  | 'reasoning'
  | 'signatures'
  | 'calls'
  | 'calls.cut'
  | 'refused'
  | 'usage.cached'
  | 'usage.reasoning'

interface Dialect {
  cannot: readonly Missing[]
  /** Events without meaning that may come anywhere after the first. */
  noise: readonly Values[]
  said(response: Values): Said
}

export interface Client extends Dialect {
  /** A client's request for everything: reasoning, usage. */
  asking: Values
  /** What a client puts together from a stream. */
  fold(events: readonly Values[]): Values
  /** What of an answer is the same however it came: all but ids and times, and the difference of absent and empty. */
  essence(response: Values): unknown
  /** Where a stream breaks the dialect's grammar. */
  faults(events: readonly Values[]): string[]
  write(conversation: Conversation): Values
}

export interface Provider extends Dialect {
  /** What models and providers of this dialect may say of themselves. */
  traits: fc.Arbitrary<Values>
  /** What a provider's whole answer keeps to where the schema is wider than the wire. */
  answer: Schema
  /** The same answer without what would contradict itself. */
  settle(response: Values): Values
  /** The stream in which a provider would send the answer. */
  unfold(response: Values, cut: Cut): Values[]
  /**
   * The same stream from a provider that leaves out what it says again later: of the parts of each item by the highest level so
   * far (0: nothing, 1: pieces, 2: all but the item, 3: all but its end), and all of the items from the place `most` on.
   */
  sparse?(events: readonly Values[], levels: readonly number[], most: number): Values[]
  /** Of which part of an answer an event tells, where a provider may weave it with those of other parts; nothing where it may not. */
  strand(event: Values): string | undefined
  read(request: Values): Conversation
}

export type Table = Client & Provider

const CLIENTS: Readonly<Record<string, Client>> = {
  chat,
  cohere_chat: cohereChat,
  completions,
  generate,
  messages,
  ollama,
  ollama_generate: ollamaGenerate,
  responses,
}
const PROVIDERS: Readonly<Record<string, Provider>> = { chat, cohere_chat: cohereChat, generate, messages, ollama, responses }

/** A dialect without a table holds no conversations: what is asked of all dialects is asked of it, and no more. */
export const clientOf = (dialect: string): Client | undefined => CLIENTS[dialect]
export const providerOf = (dialect: string): Provider | undefined => PROVIDERS[dialect]
/** All pairs of a client and a provider between which conversations are held. */
export const PAIRS = Object.keys(CLIENTS).flatMap(from => Object.keys(PROVIDERS).flatMap(to => (from === to ? [] : [`${from}-to-${to}`])))
