// `sluice openapi`: prints the routes as an OpenAPI document.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../../codegen/home.js'
import { DataError } from '../../codegen/read/findings.js'
import { openapiOf } from '../openapi/document.js'
import { addRelays } from '../openapi/relays.js'
import type { CommandResult } from '../output.js'
import { folderOf, rootsOf } from '../overlay.js'
import { projectOf } from '../project.js'
import { relaysIn } from './relays.js'

/** Throws a DataError if the data of the folder is invalid. */
export async function showOpenapi(path: string): Promise<CommandResult> {
  const folder = folderOf(path)
  const { roots } = rootsOf(folder)
  const project = projectOf(folder)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const { version, license } = JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')) as { version: string; license: string }
  const document = openapiOf(project, { version, license, roots })
  addRelays(document, relaysIn(folder))
  return { json: { document }, text: JSON.stringify(document, null, 2), findings: [] }
}
