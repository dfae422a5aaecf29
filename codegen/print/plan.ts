// Prints the plan as a module: routes, dialects, providers and mappings, ready for the engine. The module of a mapping is
// imported when the mapping is asked for.

import { createHash } from 'node:crypto'
import type { Endpoint, Mapping, PlanFacts, ProviderPlan } from '../../engine/plan.js'
import type { MappingData } from '../../schemas/config/types.js'
import type { Exports, Modules } from '../compile/modules.js'
import { endpointFunction } from '../compile/providers.js'
import { comment, exactName, type Js, joined, js, json } from '../jsonata/js.js'
import { madeMembers } from '../jsonata/made-members.js'
import { topMembers } from '../jsonata/top-members.js'
import { type EndpointData, type Entry, isInside, type Project, type ProviderData, sidesOf } from '../read/project.js'
import { milliseconds } from '../read/units.js'
import { dialectOf } from './dialect.js'
import { Code, type Printed, print } from './literal.js'
import { pathOf } from './members.js'
import { functionIn, localOf, memberOfImport } from './modules.js'
import { routeOf } from './route.js'

/** A plan as a module, and the hash of each of its entries, by part of the plan and name. */
export interface PrintedPlan {
  text: string
  entries: Record<string, string>
}

export function printPlan(project: Project, modules: Modules): PrintedPlan {
  const { base } = modules
  const entries: Record<string, string> = {}
  /** An entry of the plan, or the base's entry if that is equal: `known` is its code. */
  const entry = <Value>(part: string, name: string, value: Printed<Value>, known: Js): Printed<Value> => {
    const hash = createHash('sha256')
      .update(print(value, code => code.key))
      .digest('hex')
    entries[`${part}/${name}`] = hash
    return base?.entries[`${part}/${name}`] === hash ? new Code(known) : value
  }
  const named = <Data, Value>(
    part: 'dialects' | 'providers',
    from: Iterable<readonly [string, Data]>,
    make: (name: string, data: Data) => Printed<Value>,
  ): Record<string, Printed<Value>> =>
    Object.fromEntries(
      [...from].map(([name, data]) => [name, entry(part, name, make(name, data), js`base.${exactName(part)}[${json(name)}]`)]),
    )
  const plan: Printed<PlanFacts> = {
    dialects: named('dialects', project.formats, (name, { data }) => dialectOf(name, data, project, modules)),
    routes: project.routes.map(({ name, data }) =>
      entry('routes', name, routeOf(name, data, project, modules), js`base.routes.find(route => route.name === ${json(name)})`),
    ),
    keyLocations: Object.fromEntries(
      [...project.keyLocations].map(([name, { protocol_prefix, ...location }]) => [name, { ...location, protocolPrefix: protocol_prefix }]),
    ),
    providers: named('providers', project.providers, (name, { data }) => providerOf(name, data, project, modules)),
    catalogue: new Code(js`catalogue`, js`catalogue`),
    releases: project.releases,
    validateGateway: new Code(modules.gateway === undefined ? js`undefined` : js`gateway`, js`gateway`),
  }
  const read = new Set<Js>()
  const text = print(plan, code => {
    if (code.reads !== undefined) read.add(code.reads)
    return code.text
  })
  const mappings = [...modules.mappings].map(([name, exports]) => {
    const value = entry('mappings', name, mappingOf(name, exports, project, modules), js`base_mappings[${json(name)}]`)
    return js`  ${json(name)}: ${value instanceof Code ? value.text : onDemand(name, exports, value, modules)},`
  })
  const lines = [
    comment('Made from routes/, schemas/, mappings/, providers/ and models/ by codegen; do not edit.'),
    ...(base === undefined ? [] : [js`import { plan as base, mappings as base_mappings } from ${json(base.from)}`]),
    ...importsOf(modules)
      .filter(({ local }) => base === undefined || read.has(local))
      .map(({ line }) => line),
    js``,
    js`export const plan = ${text}`,
    js``,
    js`export const mappings = {`,
    ...mappings,
    js`}`,
    js``,
  ]
  return { text: joined(lines, '\n'), entries }
}

/** A mapping as a function that imports its module. */
function onDemand(name: string, { from }: Exports, value: Printed<Mapping>, modules: Modules): Js {
  const local = localOf('mapping', name, modules)
  return js`async () => {\n    const ${local} = await import(${json(from)})\n    return ${print(value, ({ text }) => text, 2)}\n  }`
}

/** Each module that the plan imports, by its local name. */
function importsOf(modules: Modules): { local: Js; line: Js }[] {
  const all = (local: Js, from: string) => ({ local, line: js`import * as ${local} from ${json(from)}` })
  const one = (local: Js, from: string) => ({ local, line: js`import { ${local} } from ${json(from)}` })
  return [
    ...[...modules.formats].map(([name, { from }]) => all(localOf('format', name, modules), from)),
    ...(modules.gateway === undefined ? [] : [one(js`gateway`, modules.gateway)]),
    one(js`catalogue`, modules.catalogue),
    ...[...modules.imports].map(([local, from]) => all(exactName(local), from)),
  ]
}

function mappingOf(name: string, { names }: Exports, project: Project, modules: Modules): Printed<Mapping> {
  const { from, to } = sidesOf(name)
  const local = localOf('mapping', name, modules)
  const given = (key: string): Code | undefined => (names.has(key) ? memberOfImport(local, key) : undefined)
  const event = given('event')
  return {
    from,
    to,
    carry: given('carry'),
    fetch: given('fetch'),
    request: given('request'),
    response: given('response'),
    split: given('split'),
    join: given('join'),
    failure: given('failure'),
    location: given('location'),
    stream: event && { start: memberOfImport(local, 'start'), event, done: memberOfImport(local, 'done') },
    dropped: given('dropped'),
    refused: given('refused'),
    passesRest: (project.mappings.get(name) as Entry<MappingData>).data.fields.rest === 'pass' ? true : undefined,
    judges: judgesOf((project.mappings.get(name) as Entry<MappingData>).data.fields),
  }
}

/** Fields for which a mapping decides itself about unknown kinds. Its conditional drops concern these fields. */
function judgesOf({ dropped, refused }: MappingData['fields']): string[] {
  const always = Object.entries(dropped).filter(([, rule]) => typeof rule === 'string' || (rule.when ?? rule.sent) === undefined)
  return [...Object.keys(refused), ...always.map(([path]) => path)]
}

function providerOf(name: string, data: ProviderData, project: Project, modules: Modules): Printed<ProviderPlan> {
  return {
    name,
    title: data.title,
    base: data.base,
    credential: { ...data.credential, jwt: data.credential.jwt && { lifetime: milliseconds(data.credential.jwt.lifetime) } },
    headers: lowerCase(data.headers),
    secretEnv: data.secret_env,
    models: data.models,
    modelsPath: data.models_path,
    traits: data.traits,
    speaks: Object.fromEntries(
      Object.entries(data.speaks)
        .filter(([key]) => project.formats.has(key))
        .map(([key, endpoint]) => [key, endpointOf(name, key, endpoint, modules)]),
    ),
  }
}

/** An endpoint of a provider; its expressions are functions. */
function endpointOf(
  provider: string,
  dialect: string,
  { usage, request, response, event, error, drop, ...endpoint }: EndpointData,
  { providers }: Modules,
): Printed<Endpoint> {
  const given = (part: 'usage' | 'request' | 'response' | 'event' | 'error'): Code =>
    functionIn(providers, endpointFunction(provider, dialect, part))
  const members = usage === undefined ? undefined : topMembers(usage)
  const inside = drop?.filter(isInside) ?? []
  return {
    ...endpoint,
    drop: drop?.filter(path => !isInside(path)),
    dropInside: inside.length === 0 ? undefined : inside.map(at => ({ at, path: pathOf(at) })),
    // An event is parsed if it holds one of the members; if the expression may read any, every event is.
    usage:
      usage === undefined
        ? undefined
        : { markers: members?.map(name => JSON.stringify(name)) ?? ['{'], read: given('usage'), members, told: madeMembers(usage) },
    request: request === undefined ? undefined : given('request'),
    response: response === undefined ? undefined : given('response'),
    event: event === undefined ? undefined : given('event'),
    error: error === undefined ? undefined : given('error'),
  }
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
