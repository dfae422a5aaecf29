import type fc from 'fast-check'
import { chat } from './chat.js'
import { generate } from './generate.js'
import { messages } from './messages.js'
import { responses } from './responses.js'

export interface Table {
  traits: fc.Arbitrary<Record<string, unknown>>
}

const TABLES: Readonly<Record<string, Table>> = { chat, generate, messages, responses }

export function tableOf(dialect: string): Table {
  const table = TABLES[dialect]
  if (table === undefined) throw new Error(`test/properties/dialects/${dialect}.ts is missing: a dialect that is mapped needs one`)
  return table
}
