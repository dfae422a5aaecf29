// Documents about the gateway: the OpenAPI document, and a page that shows it. Routes refer to them by name. Each is made
// on the first request, once for each configuration, and never in the serving process.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { BUILT } from '../codegen/home.js'
import type { Documents } from '../engine/snapshot/model.js'
import { PROGRAM } from './bundled.js'

/** A file that the build copies from the viewer's package. */
const viewer = (name: string): string => join(BUILT, 'viewer', name)
/** Bytes. */
const LARGEST = 64 * 1024 * 1024

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<link rel="stylesheet" href="docs/viewer.css">
<div id="page"></div>
<script src="docs/viewer.js"></script>
<script src="docs/start.js"></script>
</html>
`
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, docExpansion: 'none', defaultModelsExpandDepth: -1 })\n`

/** The documents of a configuration in a folder, each made once. */
export function documentsOf(folder: string): Documents {
  const once = (type: string, make: () => Promise<Buffer>): Documents[string] => {
    let made: Promise<Buffer> | undefined
    return async () => {
      made ??= make()
      // A failed document is made again on the next request.
      made.catch(() => {
        made = undefined
      })
      return { type, body: await made }
    }
  }
  return {
    openapi: once('application/json', () => printed(folder)),
    page: once('text/html; charset=utf-8', async () => Buffer.from(PAGE)),
    start: once('text/javascript; charset=utf-8', async () => Buffer.from(START)),
    script: once('text/javascript; charset=utf-8', () => readFile(viewer('swagger-ui-bundle.js'))),
    style: once('text/css; charset=utf-8', () => readFile(viewer('swagger-ui.css'))),
  }
}

/** The output of the command in a process of its own, so that requests do not wait. */
function printed(folder: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [PROGRAM, 'openapi', folder], { maxBuffer: LARGEST, encoding: 'buffer' }, (error, out) =>
      error === null ? resolve(out) : reject(new Error('the OpenAPI document could not be made')),
    )
    try {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // If its priority cannot be lowered, it competes with the gateway.
    }
  })
}
