// The members of requests that the engine itself reads: no mapping has to read them.

import type { Project } from './project.js'

/** The model's name, the wish for a stream, the form of vectors, and the id of something that a route follows. */
export function membersOfEngine(project: Project, dialect: string): ReadonlySet<string> {
  const format = project.formats.get(dialect)?.data
  const asks = format?.stream?.flag
  const flag = typeof asks === 'object' ? asks.member : asks
  const followed = project.routes.filter(({ data }) => data.dialect === dialect).map(({ data }) => data.follow)
  return new Set([format?.model, flag, format?.vectors?.form, ...followed].flatMap(path => path?.match(/^body\.(\w+)$/)?.[1] ?? []))
}
