// Finds the script for a request: the one that a test bound to the model's name, then the scenario file, then the name
// itself.

import { checkScript, filledScript, type Scene, sceneFile } from './grammar.js'
import { type Named, named } from './names.js'
import type { Asked, FilledScript, Script } from './script.js'

/** One answer for all calls, or one for each; the last one repeats. */
export type Scripts = Script | Script[]

export type Scenes = {
  bind(model: string, scripts: Scripts): void
  find(model: string, path: string, asked: () => Asked): FilledScript | undefined
}

const REMEMBERED = 1000

export function scenes(file: string | undefined): Scenes {
  // The first one compiles the spec, which no request is to wait for.
  const none = filledScript({})
  const inTurn = (scripts: Scripts): (() => FilledScript) => {
    const list = [scripts].flat().map(filledScript)
    let at = 0
    return () => list[Math.min(at++, list.length - 1)] ?? none
  }
  const bound = new Map<string, () => FilledScript>()
  const written = (file === undefined ? [] : sceneFile(file)).map(scene => ({ match: scene.match, next: inTurn(scene.answers) }))
  const names = new Map<string, Named<FilledScript> | undefined>()
  // A parsed request has one script, because it has one model name.
  const replies = new WeakMap<Asked, FilledScript>()

  return {
    bind(model, scripts) {
      for (const script of [scripts].flat()) checkScript(script, model)
      bound.set(model, inTurn(scripts))
    },
    find(model, path, asked) {
      const next = bound.get(model) ?? written.find(scene => meant(scene.match, model, path, asked))?.next
      if (next) return next()
      if (!names.has(model)) {
        if (names.size >= REMEMBERED) names.clear()
        names.set(model, filledName(named(model)))
      }
      const name = names.get(model)
      if (!name || 'script' in name) return name?.script
      const said = asked()
      const script = replies.get(said) ?? name.reply(said)
      replies.set(said, script)
      return script
    },
  }
}

function meant(match: Scene['match'], model: string, path: string, asked: () => Asked): boolean {
  return (
    (match.model === undefined || match.model === model) &&
    (match.path === undefined || match.path === path) &&
    (match.text === undefined || asked().text.includes(match.text))
  )
}

function filledName(name: Named<Script> | undefined): Named<FilledScript> | undefined {
  if (name === undefined || 'script' in name) return name && { script: filledScript(name.script) }
  return { reply: asked => filledScript(name.reply(asked)) }
}
