import fc from 'fast-check'
import { keyed, mostly } from '../words.js'
import type { Table } from './table.js'

export const chat: Table = {
  traits: keyed([
    ['reasoning_content', mostly(0.3, fc.boolean())],
    ['reasoning_effort', mostly(0.4, fc.constantFrom<unknown>(false, ['low', 'high'], ['none', 'medium']))],
    ['effort_with_tools', mostly(0.2, fc.constant(false))],
    ['sampling', mostly(0.2, fc.constant(false))],
    ['custom_tools', mostly(0.3, fc.constant(true))],
    ['developer_role', mostly(0.3, fc.constant(true))],
  ]),
}
