// A call of a built-in. Its signature is checked at build if the types allow it.

import { builtinOf, COLLAPSING, GUARDS, LETTERS, LISTS, type Parameter, parametersOf, RESULTS, tighten } from '../builtins.js'
import { type Env, rt, value } from '../context.js'
import { elementAt } from '../element.js'
import { type Js, joined, js, json } from '../js.js'
import { FUNCTIONS, PATHS, SIGNATURE } from '../runtime.js'
import { ANY, ARR, argumentList, eachOf, type Operand, UNDEF } from '../types.js'

export function builtinCall(name: string, given: Operand[], env: Env, context: Operand): Operand {
  const module = moduleOf(builtinOf(name).module)
  const params = parametersOf(name)
  const known = { raw: COLLAPSING.has(name), nested: name === 'map' || name === 'each' }
  const bits = RESULTS[name] ?? ANY
  const isSimple =
    !params.some(param => param.repeats) &&
    given.length <= params.length &&
    params.every((param, index) => index < given.length || (param.optional && !param.contextual))
  if (isSimple) {
    const direct: Js[] = []
    const checks: number[] = []
    let canBeDirect = true
    given.forEach((operand, index) => {
      const param = elementAt(params, index)
      if (param.isArray) {
        if (param.subtype === undefined) {
          direct.push((operand.bits & ~(ARR | UNDEF)) === 0 ? operand.code : js`${rt(env, PATHS, 'arrayOf')}(${operand.code})`)
          return
        }
        const each = eachOf(operand)
        const isKnown = each !== undefined && (each.shape.bits & ~(LETTERS[param.subtype] ?? 0)) === 0
        const list = operand.stable ? undefined : each?.list
        if (isKnown && list !== undefined) direct.push(js`${rt(env, PATHS, 'someOf')}(${list})`)
        else if ((operand.bits & ~(ARR | UNDEF)) === 0) direct.push(operand.code)
        else direct.push(js`${rt(env, PATHS, 'arrayOf')}(${operand.code})`)
        if (isKnown) return
        if (LISTS[param.subtype] === undefined) canBeDirect = false
        else checks.push(index)
        return
      }
      // As one type of a union, an array is only an array: a single value is not wrapped.
      const kindOf = (letter: string): number => (letter === 'a' ? ARR : (LETTERS[letter] ?? 0))
      const allowed = [...param.letters].reduce((sum, letter) => sum | kindOf(letter), 0) | (param.letters === 'f' ? 0 : UNDEF)
      direct.push(operand.code)
      if ((operand.bits & ~allowed) !== 0) {
        const guard = param.letters.length === 1 ? GUARDS[param.letters] : undefined
        if (guard === undefined) canBeDirect = false
        else checks.push(index)
      }
    })
    if (canBeDirect && checks.length === 0) {
      return value(js`${rt(env, module, name)}(${joined(direct, ', ')})`, tighten(name, bits, given), known)
    }
    if (canBeDirect) {
      const checked = checkedFunction(name, module, params, given.length, checks, env)
      return value(js`${checked}(${joined([...direct, context.code], ', ')})`, tighten(name, bits, given), known)
    }
  }
  const validate = env.unit.constant(`${name}_arguments`, js`${rt(env, SIGNATURE, 'signature')}(${json(builtinOf(name).signature)})`)
  return value(js`${rt(env, module, name)}(...${validate}([${argumentList(given)}], ${context.code}))`, bits, known)
}

function moduleOf(module: string | undefined): string {
  if (module === undefined || module.includes('functions')) return FUNCTIONS
  return module.includes('nondeterministic') ? 'nondeterministic' : 'pictures'
}

/** A wrapper that calls the implementation directly if the arguments' types allow it, and checks the signature otherwise. */
export function checkedFunction(name: string, module: string, params: Parameter[], count: number, checks: number[], env: Env): Js {
  const names = Array.from({ length: count }, (_, index) => js`a${index}`)
  const validate = env.unit.constant(`${name}_arguments`, js`${rt(env, SIGNATURE, 'signature')}(${json(builtinOf(name).signature)})`)
  const tests = checks.map(index => {
    const param = elementAt(params, index)
    const list = param.isArray && param.subtype !== undefined ? LISTS[param.subtype] : undefined
    if (list !== undefined) return js`(${rt(env, PATHS, list)}(a${index}) || a${index} === undefined)`
    const guard = GUARDS[param.letters]?.(js`a${index}`)
    if (guard === undefined) throw new Error(`$${name} has an argument that no test is for: ${param.letters}`)
    return param.letters === 'f' ? guard : js`(${guard} || a${index} === undefined)`
  })
  const callee = rt(env, module, name)
  const text = js`(${joined([...names, js`context`], ', ')}) => ${joined(tests, ' && ')} ? ${callee}(${joined(names, ', ')}) : ${callee}(...${validate}([${joined(names, ', ')}], context))`
  return env.unit.constant(`${name}_checked`, text)
}
