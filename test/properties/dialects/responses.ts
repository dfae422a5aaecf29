import fc from 'fast-check'
import { keyed, mostly } from '../words.js'
import type { Table } from './table.js'

export const responses: Table = {
  traits: keyed([
    ['reasoning', mostly(0.2, fc.constant(false))],
    ['reasoning_effort', mostly(0.4, fc.constantFrom<unknown>(['low', 'high'], ['none', 'medium'], false))],
    ['reasoning_summary', mostly(0.3, fc.constantFrom<unknown>(false, 'detailed'))],
    ['sampling', mostly(0.2, fc.constant(false))],
  ]),
}
