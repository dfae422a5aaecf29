// `sluice routes`: lists the routes, and how each provider serves them.

import { callsUpstream } from '../../codegen/check/references.js'
import { way } from '../../codegen/print/routes-md.js'
import { DataError } from '../../codegen/read/findings.js'
import { type CommandResult, count } from '../output.js'
import { folderOf } from '../overlay.js'
import { projectOf } from '../project.js'
import { columns } from '../table.js'
import { relaysIn } from './relays.js'

/** Throws a DataError if the data of the folder is invalid. */
export async function showRoutes(path: string): Promise<CommandResult> {
  const folder = folderOf(path)
  const project = projectOf(folder)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const providers = [...project.providers.keys()].sort()
  const routes = project.routes.map(({ name, data }) => {
    const served = callsUpstream(data)
      ? Object.fromEntries(
          providers.flatMap(provider => (way(project, data.dialect, provider) ? [[provider, way(project, data.dialect, provider)]] : [])),
        )
      : undefined
    return {
      name,
      methods: [data.method].flat(),
      paths: [data.path].flat(),
      ...(data.when && { when: data.when }),
      auth: data.auth,
      dialect: data.dialect,
      /** By provider: `same`, or the dialect that requests are translated to. */
      served,
      answered: served === undefined ? (data.fail ?? 'here') : undefined,
    }
  })
  const rows = routes.flatMap(({ name, methods, paths, dialect, served, answered }) => {
    const how = served === undefined ? String(answered) : count(Object.keys(served).length, 'provider')
    return paths.map(path => [methods.join(','), path, dialect, name, how])
  })
  const relays = relaysIn(folder).map(({ name, path, upstream }) => ({ name, methods: ['any'], paths: [`${path}/*`], upstream }))
  for (const { name, paths, upstream } of relays) rows.push(['any', paths.join(','), '', name, upstream])
  return {
    json: { routes, relays },
    text: columns([['METHOD', 'PATH', 'DIALECT', 'ROUTE', 'SERVED BY'], ...rows]),
    findings: [],
  }
}
