// The compiler of the official clients' types: the errors in a text, by line.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..')

export interface Said {
  /** Counts from 1. */
  line: number
  text: string
}

/** Everything that the compiler finds wrong in a module, which may import what is installed here. */
export async function compilerSays(module: string): Promise<Said[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-types-'))
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'module.ts'), module)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const compilerOptions = {
      target: 'ES2023',
      lib: ['ES2023', 'DOM'],
      module: 'NodeNext',
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      noErrorTruncation: true,
      types: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['module.ts'] }))
    const command = [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder, '--pretty', 'false']
    const said = await promisify(execFile)(process.execPath, command, { maxBuffer: 64 * 1024 * 1024 }).then(
      ({ stdout }) => stdout,
      (error: { stdout?: string }) => {
        if (typeof error.stdout === 'string' && error.stdout !== '') return error.stdout
        throw error
      },
    )
    return said
      .split(/\n(?=\S)/)
      .filter(text => text.trim() !== '')
      .map(text => {
        const [, line, words] = /^[^(\n]*\((\d+),\d+\): ([\s\S]*)$/.exec(text.trim()) ?? []
        if (line === undefined) throw new Error(text)
        return { line: Number(line), text: words as string }
      })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
