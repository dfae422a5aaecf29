// Compiles the expressions of routes to one module.

import type { Global } from '../jsonata/context.js'
import { js } from '../jsonata/js.js'
import { ANY, FUN, NOTHING, NUM, OBJ, type Shape, STR, UNDEF } from '../jsonata/types.js'
import type { Project } from '../read/project.js'
import { FACTS } from './format.js'
import { identifier } from './identifier.js'
import { Module, objectInput } from './module.js'

const VIEW: Shape = { bits: OBJ }

/** What an expression of a route sees of a request. */
const REQUEST: readonly [string, Global][] = [
  ['query', { code: js`view.query`, shape: VIEW }],
  ['path', { code: js`view.path`, shape: VIEW }],
  ['now', { code: js`view.now`, bits: NUM }],
  ['body', { code: js`view.body`, bits: ANY & ~FUN }],
]

/** The names that the functions of a route may have. */
export function routeFunctions(route: string): string[] {
  return ['answer', 'kept', 'conversation', 'error', 'estimate_text', 'estimate_answer'].map(part => `${identifier(route)}_${part}`)
}

/** The expressions of some routes: answers of the gateway itself, and how tokens are counted. */
export function compileRoutes(routes: Project['routes'], project: Project): Module {
  const module = new Module(project.findings, project.library)
  for (const name of ['view', 'input', 'tokens', 'facts']) module.unit.name(name)
  for (const { name, data, document } of routes) {
    const id = identifier(name)
    if (data.answer !== undefined) {
      const globals = new Map([
        ...REQUEST,
        ['models', { code: js`view.models`, bits: ANY & ~FUN }],
        ['key', { code: js`view.key`, bits: ANY & ~FUN }],
        ['address', { code: js`view.address`, bits: STR | UNDEF }],
        ['usage', { code: js`view.usage`, bits: ANY & ~FUN }],
        ['today', { code: js`view.today`, bits: STR | UNDEF }],
        ['limits', { code: js`view.limits`, bits: ANY & ~FUN }],
        ['budgets', { code: js`view.budgets`, bits: ANY & ~FUN }],
      ])
      module.export(`${id}_answer`, ['view'], body =>
        module.compile({ document, pointer: ['answer'], text: data.answer as string }, NOTHING, globals, body),
      )
    }
    if (data.kept) {
      const globals = new Map([
        ['kept', { code: js`view.kept`, shape: VIEW }],
        ['query', { code: js`view.query`, shape: VIEW }],
      ])
      const expression = { document, pointer: ['kept', 'answer'], text: data.kept.answer }
      module.export(`${id}_kept`, ['view'], body => module.compile(expression, NOTHING, globals, body))
    }
    if (data.conversation) {
      const globals = new Map([...REQUEST, ['conversation', { code: js`view.conversation`, shape: VIEW }]])
      const expression = { document, pointer: ['conversation', 'answer'], text: data.conversation.answer }
      module.export(`${id}_conversation`, ['view'], body => module.compile(expression, NOTHING, globals, body))
    }
    if (typeof data.error === 'object' && data.error.body !== undefined) {
      const { body: text } = data.error
      module.export(`${id}_error`, ['facts'], body =>
        module.compile(
          { document, pointer: ['error', 'body'], text },
          { code: js`undefined`, bits: 1, stable: true, clean: true },
          FACTS,
          body,
        ),
      )
    }
    if (data.estimate) {
      const { text, answer } = data.estimate
      module.export(`${id}_estimate_text`, ['input'], body =>
        module.compile({ document, pointer: ['estimate', 'text'], text }, objectInput(js`input`), new Map(), body),
      )
      module.export(`${id}_estimate_answer`, ['tokens', 'input'], body =>
        module.compile(
          { document, pointer: ['estimate', 'answer'], text: answer },
          objectInput(js`input`),
          new Map([['tokens', { code: js`tokens`, bits: NUM }]]),
          body,
        ),
      )
    }
  }
  return module
}
