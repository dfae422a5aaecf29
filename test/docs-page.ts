// A page of the documentation, followed like a reader would: its files are written, and its commands are run in one shell, in
// order.

import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Block {
  language: string
  /** The file that the block is; undefined if none is named after the language. */
  path?: string
  text: string
  line: number
}

/** The blocks of a page in their order. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)(?: +(\S+))?\n([\s\S]*?)^```/gm)].map(({ index, 1: language, 2: path, 3: text }) => ({
    language: language as string,
    ...(path !== undefined && { path }),
    text: text as string,
    line: page.slice(0, index).split('\n').length,
  }))
}

/** Milliseconds for a command. Less than for a test, so that the test can report the command's output. */
const LONGEST = 300_000

/** One bash for a page, so that exported variables and background processes stay. It ends at the first command that fails. */
export class Shell {
  private readonly child
  private out = ''
  /** All that was written to stderr, by processes in the background, too. */
  private complaints = ''
  private isOver = false
  private woken: () => void = () => undefined
  private count = 0

  constructor(
    private readonly cwd: string,
    env: NodeJS.ProcessEnv,
  ) {
    this.child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail'], { cwd, env, stdio: 'pipe', detached: true })
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', part => {
        this.out += String(part)
        this.woken()
      })
    this.child.stderr.on('data', part => {
      this.complaints = (this.complaints + String(part)).slice(-4000)
    })
    this.child.on('close', () => {
      this.isOver = true
      this.woken()
    })
    this.child.stdin.on('error', () => undefined)
  }

  /** Runs commands and returns their output. Throws with it if one fails. */
  async run(commands: string): Promise<string> {
    const mark = `==${++this.count}==`
    this.out = ''
    this.child.stdin.write(`${commands.trim()}\necho ${mark}\n`)
    const late = setTimeout(() => this.end(), LONGEST)
    try {
      while (!this.out.includes(mark)) {
        if (this.isOver) throw new Error(`${commands.trim()}\nfailed, and said:\n${this.out}${this.logs()}`)
        await new Promise<void>(done => {
          this.woken = done
        })
      }
    } finally {
      clearTimeout(late)
    }
    return this.out.slice(0, this.out.indexOf(mark))
  }

  /** The same for commands that wait for something to take effect: they are repeated until they succeed. */
  async runUntilGood(commands: string): Promise<string> {
    const quoted = `'${commands.trim().replaceAll("'", `'\\''`)}'`
    return this.run(
      `UNTIL=$((SECONDS + 240)); until SAID=$(eval ${quoted} 2>&1); do [ $SECONDS -lt $UNTIL ] || break; sleep 0.2; done; echo "$SAID"; eval ${quoted} >/dev/null`,
    )
  }

  /** What background processes wrote to stderr and to log files. */
  private logs(): string {
    const names = readdirSync(this.cwd).filter(name => name.endsWith('.log'))
    return [
      `\nstderr:\n${this.complaints}`,
      ...names.map(name => `\n${name}:\n${readFileSync(join(this.cwd, name), 'utf8').slice(-4000)}`),
    ].join('')
  }

  /** Ends the shell and its processes. */
  end(): void {
    try {
      process.kill(-(this.child.pid as number), 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

export function writeBlock(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
