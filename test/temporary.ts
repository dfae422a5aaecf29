// One temporary folder for all tests, which is removed at the end, whatever a test has left in it.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs before the workers begin, which have the environment of this process. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  // Postgres runs as a user of its own.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
