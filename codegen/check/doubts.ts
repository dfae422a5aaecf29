// Finds probable mistakes in new files which can be served all the same: a name that nothing knows and that is much like one
// that is known. Any other name may be one that only the provider, or a mapping, knows.

import type { Finding } from '../read/findings.js'
import { namesIn } from '../read/named.js'
import type { Entry, Project, ProviderData } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { nearest } from '../read/suggest.js'
import { type Pointer, type SourcePosition, valueAt, type YamlDocument } from '../read/yaml.js'

/** The doubts about the new providers of a project. The grammar of models has their traits. */
export function doubtsIn(project: Project): Finding[] {
  const known = traitsIn(project)
  return [...project.providers.values()]
    .filter(({ document }) => !project.settled.has(document))
    .flatMap(provider => [...traitDoubts(provider.document, ['traits'], known), ...memberDoubts(provider, project)])
}

/** The names of traits that something reads, or that a built-in file has. */
export function traitsIn({ providers, catalogue, formats, mappings, parts, settled }: Project): ReadonlySet<string> {
  const texts = [...formats.values(), ...mappings.values(), ...parts.values()].map(({ data }) => JSON.stringify(data))
  const read = texts.flatMap(text => [...text.matchAll(/\btraits\.([a-z][a-z0-9_]*)/g)].map(([, name]) => name as string))
  const facts = [
    ...[...providers.values()].filter(({ document }) => settled.has(document)).map(({ data }) => data.traits),
    ...catalogue
      .filter(({ document }) => settled.has(document))
      .flatMap(({ data }) => Object.values(data.models).map(({ traits }) => traits)),
  ]
  return new Set([...read, ...facts.flatMap(one => Object.keys(one ?? {}))])
}

/** The doubts about the traits at a place of a document. */
export function traitDoubts(document: YamlDocument, pointer: Pointer, known: ReadonlySet<string>): Finding[] {
  return Object.keys(Object(valueAt(document.value, pointer))).flatMap(name => {
    const meant = known.has(name) ? undefined : nearest([...known], name)
    if (meant === undefined) return []
    const detail = `nothing reads the trait ${name}`
    return [{ ...document.key([...pointer, name]), rule: 'names/trait', detail, remedy: `did you mean ${meant}?` }]
  })
}

/** Members that a provider drops, renames or refuses, and that requests of its dialect do not have. */
function memberDoubts({ data, document }: Entry<ProviderData>, { schemas }: Project): Finding[] {
  return Object.entries(data.speaks).flatMap(([dialect, endpoint]) => {
    const id = schemaId(dialect, 'request')
    const known = schemas.has(id) ? [...(namesIn(schemas, id).members?.keys() ?? [])] : []
    const doubt = (name: string, place: SourcePosition): Finding[] => {
      const meant = known.includes(name) ? undefined : nearest(known, name)
      if (meant === undefined) return []
      const detail = `requests of ${dialect} have no member ${name}`
      return [{ ...place, rule: 'provider/member', detail, remedy: `did you mean ${meant}?` }]
    }
    const at = ['speaks', dialect]
    return [
      ...(endpoint.drop ?? []).flatMap((name, index) => doubt(name, document.at([...at, 'drop', index]))),
      ...Object.keys(endpoint.rename ?? {}).flatMap(name => doubt(name, document.key([...at, 'rename', name]))),
      ...Object.keys(endpoint.refuse ?? {}).flatMap(path => doubt(path.split('.')[0] as string, document.key([...at, 'refuse', path]))),
    ]
  })
}
