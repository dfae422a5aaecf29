import fc from 'fast-check'
import { keyed, mostly } from '../words.js'
import type { Table } from './table.js'

export const messages: Table = {
  traits: keyed([
    ['thinking', mostly(0.5, fc.constantFrom('budget', 'adaptive', 'none'))],
    ['sampling', mostly(0.3, fc.constantFrom('free', 'fixed'))],
    ['structured', mostly(0.4, fc.constantFrom('native', 'prompt'))],
    ['system_turns', mostly(0.4, fc.boolean())],
    ['web_search', mostly(0.4, fc.constant('web_search_20250305'))],
  ]),
}
