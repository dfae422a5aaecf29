import fc from 'fast-check'
import { keyed, mostly } from '../words.js'
import type { Table } from './table.js'

export const generate: Table = {
  traits: keyed([
    ['thinking', mostly(0.4, fc.constantFrom('level', 'budget', 'none'))],
    ['generation_3', mostly(0.4, fc.constantFrom(['upstream'], ['gemini-3']))],
    ['minimal_level', mostly(0.3, fc.constantFrom(['upstream'], ['flash']))],
    ['no_medium_level', mostly(0.3, fc.constant(['upstream']))],
    ['always_thinks', mostly(0.3, fc.constant(['upstream']))],
    ['no_penalties', mostly(0.3, fc.constant(['upstream']))],
    ['search_with_functions', mostly(0.3, fc.constant(['upstream']))],
    ['thought_signatures', mostly(0.3, fc.boolean())],
    ['json_schema', mostly(0.5, fc.constant(false))],
    ['call_ids', mostly(0.3, fc.constant(false))],
    ['web_search', mostly(0.2, fc.constant(false))],
    ['safety_settings', mostly(0.2, fc.constant([{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }]))],
  ]),
}
