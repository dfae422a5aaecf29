// The interface of a framework in the tests. A framework runs its own loop: it calls the model, runs the tools, returns the
// results, and keeps the history. `Item` is a piece of that history.

import { z } from 'zod'
import type { Dialect, Lane } from '../gateway.js'

/** Whether the kit asks for whole answers or for streams. */
export type Mode = 'whole' | 'streamed'
export const MODES: Mode[] = ['whole', 'streamed']

/** What tools take. Said with the library that kits turn into JSON Schema: its schemas are what providers get in real life. */
export const Place = z.object({ city: z.string(), days: z.number().int().describe('How many days ahead') })
export type Place = z.infer<typeof Place>

/** What an answer of a given shape is. */
export const Report = z.object({
  title: z.string().describe('A headline'),
  unit: z.enum(['celsius', 'fahrenheit']).nullable(),
  days: z.array(z.object({ name: z.string(), degrees: z.number() })),
})

export interface Tool {
  name: string
  description: string
  /** An image is in base64. */
  run(input: Place): string | { text: string; image: string }
}

export interface Work<Item> {
  model: string
  history: Item[]
  system?: string
  tools?: Tool[]
  reasons?: boolean
  schema?: typeof Report
}

export interface Done<Item> {
  text: string
  thought: string
  /** What was made of the text, where a schema was given. */
  output: unknown
  /** Of all calls to the model together. */
  usage: { input: number | undefined; output: number | undefined; cached: number | undefined }
  /** The whole conversation so far. */
  history: Item[]
}

export interface Kit<Item> {
  name: string
  dialect: Dialect
  /** Rejects where anything in the answer says that it failed. `heard` gets the pieces of text, as they come. */
  connect(url: string, key: string): (mode: Mode, work: Work<Item>, heard?: (piece: string) => void) => Promise<Done<Item>>
  user(text: string, image?: string): Item
  /** Whether the kit brings signatures of reasoning back to where they came from. */
  keeps(lane: Lane, mode: Mode): boolean
  /** Whether it tells of reasoning at all. */
  thinks: boolean
  /** Whether results of tools may hold images. */
  shows: boolean
  /** What an answer with an error status is to the kit. */
  failure(status: number): object
}
