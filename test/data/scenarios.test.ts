// Whole exchanges with the built-in data, run by the code of `sluice test`: a configuration and a client's request, each
// provider's calls and answers, and the client's answer.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as ScenariosModule from '../../cli/cases/scenarios.js'
import type * as ScriptedModule from '../../cli/cases/scripted.js'
import type * as ProjectModule from '../../cli/project.js'
import type * as FindingsModule from '../../codegen/read/findings.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { scenariosOf } = (await import(built('cli/cases/scenarios.js'))) as typeof ScenariosModule
const { eventText } = (await import(built('cli/cases/scripted.js'))) as typeof ScriptedModule
const { builtIn } = (await import(built('cli/project.js'))) as typeof ProjectModule
const { print } = (await import(built('codegen/read/findings.js'))) as typeof FindingsModule

const scenarios = await scenariosOf(join(root, 'test'), builtIn())

describe('scenarios', () => {
  for (const { file, documents, findings } of scenarios?.files ?? []) {
    test(`${file} is read without findings`, () => {
      expect(print(findings)).toBe('')
      expect(documents.length).toBeGreaterThan(0)
    })
    for (const document of documents)
      test(`${file}:${document.at([]).line} ${(document.value as { name?: string }).name}`, async () => {
        expect(print((await scenarios?.run(document))?.findings ?? [])).toBe('')
      })
  }
})

test('an event of a scenario becomes the text of a server-sent event', () => {
  expect(eventText({ id: 1 })).toBe('data: {"id":1}\n\n')
  expect(eventText({ type: 'a', b: 1 })).toBe('event: a\ndata: {"type":"a","b":1}\n\n')
  expect(eventText(': a comment')).toBe(': a comment\n\n')
})
