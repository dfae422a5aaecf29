// The result of an import: the content of our file, and a line for each setting of the old one.

import type { Project } from '../../codegen/read/project.js'

/** How well a setting can be expressed. `by hand`: the user has to decide or add something. */
export type Verdict = 'exact' | 'approximate' | 'by hand' | 'unsupported'

export interface Line {
  /** The path of the setting in the old file. */
  path: string
  verdict: Verdict
  why: string
}

export interface Target {
  upstream: string
  model: string
  known_as?: string
  priority?: number
  weight?: number
  defaults?: Record<string, unknown>
  force?: Record<string, unknown>
  headers?: Record<string, string>
}

export interface Model {
  targets: Target[]
  price?: { input: number; output: number; cached?: number; cache_write?: number }
  aliases?: string[]
  choose?: string
  groups?: string[]
  limits?: { context?: number; max_output?: number }
}

export interface Upstream {
  provider: string
  base?: string
  secret: string
  headers?: Record<string, string>
  limits?: Record<string, string>
  health?: { consecutive_failures?: number; base_ejection_time?: string }
}

/** Members of gateway.yaml. */
export interface Gateway {
  keys: { name: string; value: string }[]
  limits?: Record<string, string>
  groups?: Record<string, { times?: number }>
  upstreams: Record<string, Upstream>
  models: Record<string, Model>
}

/** Collects the result while a file is read. */
export class Plan {
  readonly lines: Line[] = []
  readonly gateway: Gateway = { keys: [], upstreams: {}, models: {} }
  /** The environment variables that the result reads, or will read. */
  readonly variables = new Set<string>()
  private readonly known = new Map<string, string>()
  private readonly literals = new Map<string, string>()

  constructor(readonly project: Project) {}

  tell(path: string, verdict: Verdict, why: string): void {
    this.lines.push({ path, verdict, why })
  }

  /** The upstream of an account, created if it does not exist; returns its name. */
  upstream(provider: string, account: Omit<Upstream, 'provider'>): string {
    const upstream = { provider, ...account }
    const id = JSON.stringify(upstream)
    const before = this.known.get(id)
    if (before !== undefined) return before
    let name = provider
    for (let number = 2; name in this.gateway.upstreams; number++) name = `${provider}-${number}`
    this.known.set(id, name)
    this.gateway.upstreams[name] = upstream
    return name
  }

  /** The environment variable that usually holds a provider's key. */
  usualVariable(provider: string): string {
    return this.project.providers.get(provider)?.data.secret_env ?? `${provider.toUpperCase().replaceAll('-', '_')}_API_KEY`
  }

  /** The environment variable for a key that the old file contains: each key has its own, since each is another account. */
  variableFor(literal: string, provider: string): string {
    const id = JSON.stringify([provider, literal])
    const before = this.literals.get(id)
    if (before !== undefined) return before
    const usual = this.usualVariable(provider)
    let variable = usual
    for (let number = 2; this.variables.has(variable); number++) variable = `${usual}_${number}`
    this.variables.add(variable)
    this.literals.set(id, variable)
    return variable
  }

  /** Whether a provider is a server of one's own, which usually has no keys. */
  isOwn(provider: string): boolean {
    const { secret_env, base } = this.project.providers.get(provider)?.data ?? {}
    return secret_env === undefined && base?.startsWith('http:') === true
  }

  model(name: string): Model {
    this.gateway.models[name] ??= { targets: [] }
    return this.gateway.models[name] as Model
  }
}
