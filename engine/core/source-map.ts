// Maps an error of compiled code to its source. Read only to log an error: codegen writes, beside each module, the source
// position of each of its lines.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** An error for the log: its message, `file:line:col` of the expression that failed, and the step's name. */
export function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = (cause as { code?: unknown }).code
  const message = typeof code === 'string' && code !== cause.message ? `${code} ${cause.message}` : cause.message
  const position = positionOf(cause)
  return position === undefined ? (cause.stack ?? message) : `${position}: ${message}`
}

function positionOf(error: Error): string | undefined {
  for (const frame of (error.stack ?? '').split('\n')) {
    const found = /(file:\/\/[^\s?)]+\.js)(?:\?[^:)]*)?:(\d+):\d+/.exec(frame)
    if (!found) continue
    const path = fileURLToPath(found[1] as string)
    if (!existsSync(`${path}.map.json`)) continue
    return positionOfLine(path, Number(found[2]))
  }
  return undefined
}

function positionOfLine(path: string, line: number): string | undefined {
  try {
    const { files, rows } = JSON.parse(readFileSync(`${path}.map.json`, 'utf8')) as {
      files: string[]
      rows: (0 | [number, number, number])[]
    }
    let at = line - 1
    while (at > 0 && !rows[at]) at--
    const row = rows[at]
    if (!row) return undefined
    const step = stepAbove(readFileSync(path, 'utf8').split('\n'), line - 1)
    return `${files[row[0]]}:${row[1]}:${row[2]}${step === undefined ? '' : ` (${step})`}`
  } catch {
    // Without the file the stack has to do.
    return undefined
  }
}

/** The name of the stream step that the lines belong to: the comment above them, inside the same function. */
function stepAbove(lines: readonly string[], from: number): string | undefined {
  for (let index = from; index >= 0; index--) {
    const text = (lines[index] as string).trim()
    if (text.startsWith('export function')) return undefined
    if (text.startsWith('// ')) return text.slice(3)
  }
  return undefined
}
