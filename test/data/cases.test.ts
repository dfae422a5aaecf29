// Config tested by config: every case of every mapping, through what was compiled and through the interpreter.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { libraryFor } from '../../codegen/compile/mapping.js'
import { newAjv } from '../../codegen/compile/validators.js'
import { type Finding, print } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import { readProject } from '../../codegen/read/project.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import type { Context, Mapping, Reducer } from '../../engine/plan.js'
import { CONTEXT, frozen, wire } from '../fixtures.js'
import { told } from '../recorded.js'
import { interpret, stepsOf } from './interpreter.js'

interface Case {
  name: string
  request?: { in: unknown; out?: unknown; ctx?: Partial<Context> }
  response?: { in: unknown; out: unknown; request?: unknown; ctx?: Partial<Context> }
  stream?: { in?: unknown; on?: 'done'; out: unknown[]; fails?: unknown }[]
  split?: unknown[]
  join?: { in: unknown[]; out: unknown }
  failure?: { in: unknown; out: unknown; invalid?: true }
  location?: { in: unknown; out: string }
  dropped?: string[]
  refused?: { param: string }
  known?: number
}

type Module = Omit<Mapping, 'from' | 'to' | 'stream'> & Partial<Reducer>

const root = join(import.meta.dirname, '../..')
const project = readProject([root])
const ajv = newAjv(project.schemas, { allErrors: true })

/** What is wrong with a value by a schema of a dialect; nothing where it is right, or where the dialect has no such schema. */
function wrong(dialect: string, part: 'request' | 'response' | 'event', value: unknown): string | undefined {
  const check = ajv.getSchema(schemaId(dialect, part))
  if (check === undefined || check(value)) return undefined
  return `schemas/${dialect}/${part}.yaml: ${ajv.errorsText(check.errors, { separator: '\n' })}`
}

function readCases(folder: string): { document: YamlDocument; where: string; findings: Finding[] }[] {
  const files = existsSync(folder) ? readdirSync(folder).filter(file => file.endsWith('.yaml')) : []
  return files.sort().flatMap(file => {
    const findings: Finding[] = []
    const documents = parseYaml(`${file}`, readFileSync(join(folder, file), 'utf8'), findings)
    if (documents.length === 0) throw new Error(`${join(folder, file)} holds no case. ${print(findings)}`)
    return documents.map(document => {
      const own: Finding[] = []
      checkGrammar({ configSchemas: project.configSchemas, findings: own }, 'case', document)
      return { document, where: `cases/${file}:${document.at([]).line}`, findings: own }
    })
  })
}

for (const [pair, mapping] of project.mappings) {
  const { data, document: file } = mapping
  const [from, to] = pair.split('-to-') as [string, string]
  const compiled = (await import(pathToFileURL(join(root, 'generated/mappings', `${pair}.js`)).href)) as Module
  const fired = new Set<string>()
  const library = new Map([...libraryFor(mapping, project)].map(([name, { text }]) => [name, text]))
  const interpreted = interpret(data, library, project.formats.get(to)?.data.stream?.event_line, pointer => fired.add(pointer.join('/')))
  const folder = join(root, 'mappings', pair, 'cases')

  /** Gives what is carried to the answer: of an empty request, where the case has none. */
  const checkRequest = ({ request, dropped, refused }: Case, ctx: Context): unknown => {
    if (request === undefined) return frozen(compiled.carry?.({}, ctx))
    const { in: given, out } = request
    expect.soft(wrong(from, 'request', given), 'request.in by its schema').toBeUndefined()
    const mine = frozen(structuredClone(given)) as Record<string, unknown>
    const refusal = compiled.refused?.(mine, ctx)
    expect.soft(refusal?.param, 'the field that is refused, compiled').toBe(refused?.param)
    expect
      .soft(interpreted.refused(given, ctx), 'the field that is refused, interpreted')
      .toEqual(refusal && JSON.parse(JSON.stringify(refusal)))
    if (refused !== undefined) return undefined
    const carry = frozen(compiled.carry?.(mine, ctx))
    const sent = compiled.request?.(mine, ctx, carry)
    const named = compiled.dropped?.(mine, ctx, sent) ?? []
    expect.soft(interpreted.dropped(given, ctx, wire(sent)), 'fields dropped, interpreted').toEqual(named)
    if (dropped !== undefined) expect.soft(named.toSorted(), 'fields dropped').toEqual(dropped.toSorted())
    expect.soft(wire(interpreted.carry(given, ctx)), 'carry, interpreted').toEqual(wire(carry))
    expect.soft(wire(interpreted.fetch(given, ctx)), 'fetch, interpreted').toEqual(wire(compiled.fetch?.(mine, ctx)))
    if (!('out' in request)) return carry
    expect.soft(wire(sent), 'request, compiled').toEqual(out)
    expect.soft(wire(interpreted.request(given, ctx, interpreted.carry(given, ctx))), 'request, interpreted').toEqual(out)
    expect.soft(wrong(to, 'request', out), 'request.out by its schema').toBeUndefined()
    return carry
  }

  const checkResponse = ({ request, response }: Case, known: Context): void => {
    if (response === undefined) return
    const ctx = frozen({ ...known, ...response.ctx })
    const asked = response.request ?? request?.in ?? {}
    if (response.request !== undefined) expect.soft(wrong(from, 'request', asked), 'response.request by its schema').toBeUndefined()
    expect.soft(wrong(to, 'response', response.in), 'response.in by its schema').toBeUndefined()
    const carry = compiled.carry?.(frozen(structuredClone(asked)) as Record<string, unknown>, ctx)
    const carried = interpreted.carry(asked, ctx)
    expect
      .soft(wire(compiled.response?.(frozen(structuredClone(response.in)), ctx, frozen(carry))), 'response, compiled')
      .toEqual(response.out)
    expect.soft(wire(interpreted.response(response.in, ctx, carried)), 'response, interpreted').toEqual(response.out)
    expect.soft(wrong(from, 'response', response.out), 'response.out by its schema').toBeUndefined()
  }

  /** What is said of whole answers beside what they are mapped to, and of requests that are several. */
  const checkParts = ({ request, split, join, ...said }: Case, ctx: Context, carry: unknown): void => {
    const asked = frozen(structuredClone(request?.in ?? {})) as Record<string, unknown>
    if (split !== undefined) {
      expect.soft(wire(compiled.split?.(asked, ctx)), 'split, compiled').toEqual(split)
      expect.soft(wire(interpreted.split(asked, ctx)), 'split, interpreted').toEqual(split)
      for (const part of split) expect.soft(wrong(from, 'request', part), 'a part by its schema').toBeUndefined()
    }
    if (join !== undefined) {
      expect.soft(wire(compiled.join?.(frozen(structuredClone(join.in)), ctx, carry)), 'join, compiled').toEqual(join.out)
      expect.soft(wire(interpreted.join(join.in, ctx, carry)), 'join, interpreted').toEqual(join.out)
      expect.soft(wrong(from, 'response', join.out), 'join.out by its schema').toBeUndefined()
    }
    for (const name of ['failure', 'location'] as const) {
      const given = said[name]
      if (given === undefined) continue
      const isInvalid = 'invalid' in given
      expect.soft(wrong(to, 'response', given.in) !== undefined, `${name}.in is wrong by its schema`).toBe(isInvalid)
      expect.soft(wire(compiled[name]?.(frozen(structuredClone(given.in)), ctx, carry)), `${name}, compiled`).toEqual(given.out)
      expect.soft(wire(interpreted[name](given.in, ctx, carry)), `${name}, interpreted`).toEqual(given.out)
    }
  }

  /** The events that the interpreter makes of a case's stream; steps that fire are noted. */
  const interpretStream = ({ request, stream }: Case): { out: unknown[]; fails: unknown }[] => {
    const ctx = { ...CONTEXT, ...request?.ctx }
    const carry = interpreted.carry(request?.in ?? {}, ctx)
    const state = interpreted.start()
    return (stream ?? []).map(({ in: given, on }) => ({
      out: on === 'done' ? interpreted.done(state, ctx, carry) : interpreted.event(state, structuredClone(given), ctx, carry),
      fails: interpreted.failed(state),
    }))
  }

  const checkStream = (given: Case, ctx: Context, carry: unknown): void => {
    const { stream } = given
    if (stream === undefined) return
    if (!compiled.start || !compiled.event || !compiled.done) throw new Error('this mapping has no stream')
    const state = compiled.start()
    const expected = interpretStream(given)
    stream.forEach((item, index) => {
      const what = `stream[${index}]${item.on === undefined ? '' : ' (done)'}`
      const out: string[] = []
      let fails: unknown
      if (item.on === 'done') fails = compiled.done?.(state, ctx, carry, out)
      else {
        expect.soft(wrong(to, 'event', item.in), `${what}.in by its schema`).toBeUndefined()
        fails = compiled.event?.(state, frozen(structuredClone(item.in)), ctx, carry, out)
      }
      expect.soft(told(out, project.formats.get(from)?.data.stream?.event_line), `${what}, compiled`).toEqual(item.out)
      expect.soft(wire(expected[index]?.out), `${what}, interpreted`).toEqual(item.out)
      expect.soft(wire(fails), `${what}, what fails, compiled`).toEqual(item.fails)
      expect.soft(wire(expected[index]?.fails), `${what}, what fails, interpreted`).toEqual(item.fails)
      item.out.forEach((event, number) => {
        expect.soft(wrong(from, 'event', event), `${what}.out[${number}] by its schema`).toBeUndefined()
      })
    })
  }

  describe(`mappings/${pair}`, () => {
    const cases = readCases(folder)

    for (const { document, where, findings } of cases) {
      const given = document.value as Case
      // Known to fail: once it passes, the mark has to go.
      const check = given?.known === undefined ? test : test.fails
      const mark = given?.known === undefined ? '' : ` (known ${given.known}: where it passes, remove the mark)`
      check(`${where} ${given?.name ?? ''}${mark}`, () => {
        expect(print(findings), 'the case by its grammar').toBe('')
        const ctx = frozen({ ...CONTEXT, ...given.request?.ctx })
        const carry = checkRequest(given, ctx)
        checkResponse(given, ctx)
        checkStream(given, ctx, carry)
        checkParts(given, ctx, carry)
      })
    }

    test('its cases fire every step of its stream', () => {
      for (const { document } of cases) interpretStream(document.value as Case)
      const idle = stepsOf(data.stream?.steps, ['stream', 'steps']).filter(({ pointer }) => !fired.has(pointer.join('/')))
      expect(idle.map(({ name, pointer }) => `${file.file}:${file.at(pointer).line} ${name}`)).toEqual([])
    })

    test('its cases hold requests, answers and, where it streams, streams', () => {
      const has = (part: keyof Case): boolean => cases.some(({ document }) => (document.value as Case)[part] !== undefined)
      const parts = ['request', 'response', 'stream', 'split', 'join', 'failure', 'location'] as const
      expect(parts.filter(part => !has(part))).toEqual(parts.filter(part => data[part] === undefined && !has(part)))
    })
  })
}

test('the data that the cases are about is read without findings', () => {
  expect(print(project.findings)).toBe('')
  expect(project.mappings.size).toBeGreaterThan(0)
})
