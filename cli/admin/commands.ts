// The commands that ask the admin API.

import { readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import type { TokenView } from '../../control/admin/tokens.js'
import type { AccountView } from '../../control/budgets/accounts.js'
import type { KeyView } from '../../control/keys/keys.js'
import type { TeamView } from '../../control/teams/teams.js'
import { duration } from '../../engine/core/durations.js'
import { NANO } from '../../engine/core/usage.js'
import { ask, CommandError, open, type Where } from './client.js'
import { readDump, type Source } from './import.js'
import { type Reconciled, reconcile } from './reconcile.js'
import { table } from './table.js'

type Options = Where & { json?: boolean }

const DAY = 86_400_000

/** `90m`, `24h`, `7d` in milliseconds; 0 is `0`. */
function timeSpan(text: string): number {
  if (text === '0') return 0
  const time = duration(text)
  if (time === undefined) throw new CommandError(`${text} is no time: write one such as 24h or 7d.`)
  return time
}

/** A date, a date with a time, or a time from now on such as `30d`, in milliseconds since 1970; null for `never`. */
function moment(text: string): number | null {
  if (text === 'never') return null
  const span = duration(text)
  if (span !== undefined) return Date.now() + span
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new CommandError(`${text} is no date: write one such as 2027-01-31, a time such as 30d, or never.`)
  return time
}

/** How far back: `7d` is since the beginning of that day. */
function since(text: string): number {
  const from = Date.now() - timeSpan(text)
  return text.endsWith('d') ? Math.floor(from / DAY) * DAY : from
}

const query = (values: Record<string, string | number | boolean | undefined>): string => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}

const show = (options: Options, value: unknown, text: () => string): void =>
  console.log(options.json ? JSON.stringify(value, undefined, 2) : text())

const date = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString().slice(0, 16))

/** A number of 0 or more. */
function amount(text: string, option: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!(value >= 0)) throw new CommandError(`${option} is a number of 0 or more, and not ${text}.`)
  return value
}

function reconciledText({ provider, upstreams, currency, days, skipped, compared, totals, differences }: Reconciled): string {
  const shown = (figure: string, value: number | null): string | null =>
    value === null ? null : figure === 'cost' ? `${value.toFixed(6)} ${currency}` : String(value)
  const rows = differences.map(one => ({
    ...one,
    provider: shown(one.figure, one.provider),
    ledger: shown(one.figure, one.ledger),
    difference: one.part === null ? null : `${one.part > 0 ? '+' : ''}${(one.part * 100).toFixed(1)} %`,
  }))
  const lines = differences.length === 0 ? [] : [table(rows, ['day', 'model', 'figure', 'provider', 'ledger', 'difference']), '']
  const all = Object.entries(totals.provider).map(
    ([figure, value]) =>
      `${figure} ${shown(figure, value)}, ledger ${shown(figure, (totals.ledger as Record<string, number>)[figure] ?? 0)}`,
  )
  if (days.length === 0) lines.push('No day of the export is over.')
  else lines.push(`${provider} (${upstreams.join(', ')}), ${days[0]} to ${days.at(-1)}: ${all.join('; ')}`)
  if (skipped.length > 0) lines.push(`Not compared, since not over: ${skipped.join(', ')}`)
  lines.push(`${compared} models of days compared, ${differences.length} differences`)
  return lines.join('\n')
}

const keyRow = (key: KeyView): Record<string, unknown> => ({
  name: key.name,
  state: key.state,
  team: key.team,
  groups: key.groups,
  models: key.models,
  expires: date(key.expires_at),
  used: date(key.last_used_at),
  secret: key.secrets.map(one => `…${one.last4}`),
})
const KEY_COLUMNS = ['name', 'state', 'team', 'groups', 'models', 'expires', 'used', 'secret']

interface KeyOptions extends Options {
  team?: string
  group?: string[]
  model?: string[]
  route?: string[]
  ip?: string[]
  tag?: string[]
  expires?: string
  budget?: string[]
  disable?: boolean
  enable?: boolean
}

/** `any` takes a limit away. */
const limitOf = (list: string[]): string[] | null => (list.includes('any') ? null : list)

function fieldsOf(options: KeyOptions): Record<string, unknown> {
  const { team, group, model, route, ip, tag, expires, budget } = options
  return {
    ...(team !== undefined && { team: team === 'none' ? null : team }),
    ...(group && { groups: group }),
    ...(model && { models: limitOf(model) }),
    ...(route && { routes: limitOf(route) }),
    ...(ip && { ips: limitOf(ip) }),
    ...(tag && { tags: tag.filter(one => one !== 'none') }),
    ...(expires !== undefined && { expires_at: moment(expires) }),
    ...(budget && { budgets: budget.includes('none') ? null : budget.map(limit => ({ limit })) }),
  }
}

interface TeamOptions extends Options {
  note?: string
  budget?: string[]
  limit?: string[]
  disable?: boolean
  enable?: boolean
}

function teamFields({ note, budget, limit }: TeamOptions): Record<string, unknown> {
  return {
    ...(note !== undefined && { note: note === '' ? null : note }),
    ...(limit && { limits: limit.includes('none') ? null : limitsOf(limit) }),
    ...(budget && { budgets: budget.includes('none') ? null : budget.map(one => ({ limit: one })) }),
  }
}

/** `requests:60/1m in_flight:4` as the admin API takes it. */
function limitsOf(words: readonly string[]): Record<string, string[] | number> {
  const limits: Record<string, string[] | number> = {}
  for (const word of words) {
    const [kind = '', value = ''] = word.split(':')
    if (value === '') throw new CommandError(`${word} is no limit: write one such as requests:60/1m, tokens:100000/1m or in_flight:4.`)
    if (kind === 'in_flight') limits[kind] = Number(value)
    else limits[kind] = [...((limits[kind] as string[] | undefined) ?? []), value]
  }
  return limits
}

const teamRow = (team: TeamView): Record<string, unknown> => ({
  ...team,
  budgets: team.budgets?.map(one => one.limit) ?? null,
  limits: Object.entries(team.limits ?? {}).map(([kind, value]) => `${kind}:${[value].flat().join('+')}`),
})

const TEAM_COLUMNS = ['name', 'state', 'keys', 'budgets', 'limits', 'note']

function addTeams(program: Command, command: (parent: Command, words: string, description: string) => Command): void {
  const withFields = (one: Command): Command =>
    one
      .option(
        '--budget <amounts...>',
        'what its keys may spend together: 100/month, with hour, day, week, month or ever; none for no budget',
      )
      .option('--limit <limits...>', 'what its keys may ask for together: requests:60/1m, tokens:100000/1m, in_flight:4; none for no limit')
      .option('--note <text>', 'what people should know of it')
  const path = (name: string): string => `/teams/${encodeURIComponent(name)}`
  const teams = program.command('teams').description('what keys may together')
  withFields(command(teams, 'create <name>', 'make a team; keys that name it belong to it')).action(
    async (name: string, options: TeamOptions) => {
      const team = await ask<TeamView>(options, 'POST', '/teams', { name, ...teamFields(options) })
      show(options, team, () => table([teamRow(team)], TEAM_COLUMNS))
    },
  )
  command(teams, 'list', 'teams in the order of their names').action(async (options: Options) => {
    const all: TeamView[] = []
    for (let after: string | undefined; ; ) {
      const page = await ask<{ teams: TeamView[]; next: string | null }>(options, 'GET', `/teams${query({ after, limit: 200 })}`)
      all.push(...page.teams)
      if (page.next === null) break
      after = page.next
    }
    show(options, all, () => table(all.map(teamRow), TEAM_COLUMNS))
  })
  command(teams, 'show <name>', 'one team').action(async (name: string, options: Options) => {
    console.log(JSON.stringify(await ask<TeamView>(options, 'GET', path(name)), undefined, 2))
  })
  withFields(command(teams, 'set <name>', 'change what its keys may together'))
    .option('--disable', 'refuse its keys until it is enabled again')
    .option('--enable', 'let them in again')
    .action(async (name: string, options: TeamOptions) => {
      const state = options.disable ? { state: 'disabled' } : options.enable ? { state: 'active' } : {}
      const team = await ask<TeamView>(options, 'PATCH', path(name), { ...teamFields(options), ...state })
      show(options, team, () => table([teamRow(team)], TEAM_COLUMNS))
    })
}

/** Adds the commands; each asks the gateway that runs here unless it is told of another. */
export function addAdminCommands(program: Command): void {
  const command = (parent: Command, words: string, description: string): Command =>
    parent
      .command(words)
      .description(description)
      .option('--config <file>', "the operator's file, whose store is meant (default: gateway.yaml where there is one)")
      .option('--url <address>', 'an admin API elsewhere, with a token in SLUICE_ADMIN_TOKEN')
      .option('--json', 'as JSON')
  const withFields = (one: Command): Command =>
    one
      .option('--team <name>', 'whose it is; none for nobody')
      .option('--group <names...>', 'the groups whose models it may use')
      .option('--model <patterns...>', 'of those, the models that it may use; any for all')
      .option('--route <patterns...>', 'the routes that it may ask; any for all')
      .option('--ip <ranges...>', 'from where it may be used; any for everywhere')
      .option('--tag <words...>', 'words for its exchanges in the ledger; none for none')
      .option('--expires <when>', 'a date, a time from now such as 30d, or never')
      .option('--budget <amounts...>', 'what it may spend: 1/day, with hour, day, week, month or ever; none for no budget of its own')
  const path = (name: string): string => `/keys/${encodeURIComponent(name)}`

  const keys = program.command('keys').description('who may call')
  withFields(command(keys, 'create <name>', 'make a key; it is shown here and never again')).action(
    async (name: string, options: KeyOptions) => {
      const made = await ask<{ key: KeyView; secret: string }>(options, 'POST', '/keys', { name, ...fieldsOf(options) })
      show(options, made, () => made.secret)
    },
  )
  command(keys, 'list', 'keys in the order of their names').action(async (options: Options) => {
    const all: KeyView[] = []
    for (let after: string | undefined; ; ) {
      const page = await ask<{ keys: KeyView[]; next: string | null }>(options, 'GET', `/keys${query({ after, limit: 200 })}`)
      all.push(...page.keys)
      if (page.next === null) break
      after = page.next
    }
    show(options, all, () => table(all.map(keyRow), KEY_COLUMNS))
  })
  command(keys, 'show <name>', 'one key').action(async (name: string, options: Options) => {
    const key = await ask<KeyView>(options, 'GET', path(name))
    console.log(JSON.stringify(key, undefined, 2))
  })
  withFields(command(keys, 'set <name>', 'change what a key may'))
    .option('--disable', 'refuse it until it is enabled again')
    .option('--enable', 'let it in again')
    .action(async (name: string, options: KeyOptions) => {
      const state = options.disable ? { state: 'disabled' } : options.enable ? { state: 'active' } : {}
      const key = await ask<KeyView>(options, 'PATCH', path(name), { ...fieldsOf(options), ...state })
      show(options, key, () => table([keyRow(key)], KEY_COLUMNS))
    })
  command(keys, 'rotate <name>', 'give a key another secret')
    .option('--grace <time>', 'for how long the old one holds', '1d')
    .action(async (name: string, options: Options & { grace: string }) => {
      const made = await ask<{ secret: string }>(options, 'POST', `${path(name)}/rotate`, { grace_ms: timeSpan(options.grace) })
      show(options, made, () => made.secret)
    })
  command(keys, 'revoke <name>', 'end a key for good')
    .option('--now', 'and what is under way with it')
    .action(async (name: string, options: Options & { now?: boolean }) => {
      const key = await ask<KeyView>(options, 'POST', `${path(name)}/revoke`, { now: options.now === true })
      show(options, key, () => `${key.name} is revoked`)
    })
  command(keys, 'import <source> <file>', 'keys of litellm, new-api, or a csv of your own; callers keep the keys that they have').action(
    async (source: string, file: string, options: Options) => {
      if (!['litellm', 'new-api', 'csv'].includes(source)) throw new CommandError(`There is no ${source}: use litellm, new-api or csv.`)
      const imported = readDump(source as Source, readFileSync(file, 'utf8'))
      const answer = await ask<{ imported: number }>(options, 'POST', '/keys/import', { keys: imported })
      show(options, answer, () => `${answer.imported} keys`)
    },
  )

  addTeams(program, command)

  const budgets = program.command('budgets').description('what may be spent')
  command(budgets, 'list', 'budgets in the windows that are not over').action(async (options: Options) => {
    const all: AccountView[] = []
    let currency = ''
    for (let after: string | undefined; ; ) {
      const page = await ask<{ currency: string; budgets: AccountView[]; next: string | null }>(
        options,
        'GET',
        `/budgets${query({ after, limit: 1000 })}`,
      )
      all.push(...page.budgets)
      currency = page.currency
      if (page.next === null) break
      after = page.next
    }
    const amount = (nano: number): string => `${(nano / NANO).toFixed(6)} ${currency}`
    show(options, all, () =>
      table(
        all.map(one => ({ ...one, limit: amount(one.limit), spent: amount(one.spent), out: amount(one.out), resets: date(one.resets_at) })),
        ['budget', 'window', 'limit', 'spent', 'out', 'resets'],
      ),
    )
  })

  command(program, 'usage', 'what was asked, and what it cost')
    .option(
      '--by <what>',
      'key, model, target, group, day, hour, team, end_user, session, tags, route, region or status, with commas',
      'model',
    )
    .option('--since <time>', 'how far back, such as 24h or 7d', '7d')
    .option('--key <name>', 'of this key')
    .option('--model <name>', 'of this model')
    .action(async (options: Options & { by: string; since: string; key?: string; model?: string }) => {
      const { by, key, model } = options
      const found = await ask<{ currency: string; rows: Record<string, number | string | null>[] }>(
        options,
        'GET',
        `/usage${query({ by, from: since(options.since), key, model })}`,
      )
      const money = (row: Record<string, number | string | null>, name: string): string => {
        const counted = (row.input as number) > 0 || (row.output as number) > 0
        return row.unpriced === row.n && counted
          ? 'no price'
          : `${((row[name] as number) / 1e9).toFixed(6)} ${found.currency}${(row.unpriced as number) > 0 ? ' +' : ''}`
      }
      const rows = found.rows.map(row => ({
        ...row,
        ms: Math.round((row.ms_sum as number) / (row.n as number)),
        cost: money(row, 'cost'),
        charge: money(row, 'charge'),
      }))
      show(options, found, () => table(rows, [...by.split(','), 'n', 'failures', 'input', 'output', 'cached', 'cost', 'charge', 'ms']))
    })

  const ledger = program.command('ledger').description('every exchange')
  command(ledger, 'export', 'rows, the oldest first, on standard output')
    .addOption(new Option('--format <format>', 'csv or ndjson').choices(['csv', 'ndjson']).default('csv'))
    .option('--since <time>', 'how far back, such as 24h or 30d', '30d')
    .action(async (options: Options & { format: string; since: string }) => {
      const answer = await open(options, 'GET', `/ledger/export${query({ format: options.format, from: since(options.since) })}`)
      await pipeline(answer, process.stdout, { end: false })
    })
  command(ledger, 'show <id>', 'one exchange, by the id that its client saw').action(async (id: string, options: Options) => {
    console.log(JSON.stringify(await ask(options, 'GET', `/exchanges/${encodeURIComponent(id)}`), undefined, 2))
  })
  command(ledger, 'verify', 'whether rollups and rows agree').action(async (options: Options) => {
    const found = await ask<{ rows: number; differences: Record<string, unknown> }>(options, 'GET', '/ledger/verify')
    if (Object.keys(found.differences).length > 0) process.exitCode = 1
    show(options, found, () =>
      process.exitCode === 1
        ? `${found.rows} rows, and rollups that differ: ${JSON.stringify(found.differences)}`
        : `${found.rows} rows, and every rollup agrees`,
    )
  })

  command(ledger, 'reconcile <files...>', "the ledger beside a provider's own export of costs or usage, by day and model")
    .option('--upstream <names...>', "the upstreams that are meant; else those of the export's provider in the file")
    .option('--tolerance <percent>', 'by how much figures may differ', '1%')
    .option('--least <amount>', 'differences of less money are left out', '0.01')
    .option('--today', 'compare the day that is not over, too')
    .action(async (files: string[], options: Options & { upstream?: string[]; tolerance: string; least: string; today?: boolean }) => {
      const found = await reconcile(files, {
        ...options,
        tolerance: amount(options.tolerance.replace(/%$/, ''), '--tolerance') / 100,
        least: amount(options.least, '--least'),
      })
      if (found.differences.length > 0 || found.days.length === 0) process.exitCode = 1
      show(options, found, () => reconciledText(found))
    })

  const audit = program.command('audit').description('who changed what')
  command(audit, 'list', 'the newest first').action(async (options: Options) => {
    const { entries } = await ask<{ entries: Record<string, unknown>[] }>(options, 'GET', `/audit${query({ limit: 200 })}`)
    show(options, entries, () =>
      table(
        entries.map(entry => ({ ...entry, at: date(entry.at as number) })),
        ['seq', 'at', 'actor', 'via', 'operation', 'subject'],
      ),
    )
  })
  command(audit, 'verify', 'whether an entry was changed or taken out').action(async (options: Options) => {
    const found = await ask<{ entries: number; broken: number | null }>(options, 'GET', '/audit/verify')
    if (found.broken !== null) process.exitCode = 1
    show(options, found, () =>
      found.broken === null ? `${found.entries} entries, none changed` : `entry ${found.broken} is not what was written`,
    )
  })

  const token = program.command('token').description('who may ask the admin API over the network')
  command(token, 'create <name>', 'make a token; it is shown here and never again')
    .requiredOption('--role <role>', 'what it may: owner, admin, operator, auditor, manager or member')
    .option('--team <names...>', 'the teams of a manager')
    .option('--key <names...>', 'the keys of a member')
    .option('--expires <when>', 'a date, a time from now such as 30d, or never', 'never')
    .action(async (name: string, options: Options & { role: string; expires: string; team?: string[]; key?: string[] }) => {
      const made = await ask<{ secret: string }>(options, 'POST', '/tokens', {
        name,
        role: options.role,
        expires_at: moment(options.expires),
        ...(options.team && { teams: options.team }),
        ...(options.key && { keys: options.key }),
      })
      show(options, made, () => made.secret)
    })
  token
    .command('first <link>')
    .description('make the first token with the link that a first start tells; it is shown here and never again')
    .action(async (link: string) => {
      const response = await fetch(link, { method: 'POST', redirect: 'error' }).catch(() => undefined)
      const said = (await response?.json().catch(() => undefined)) as { secret?: string; title?: string } | undefined
      if (said?.secret === undefined) throw new CommandError(said?.title ?? 'Nothing answers at this link.')
      console.log(said.secret)
    })
  command(token, 'list', 'tokens without what they are').action(async (options: Options) => {
    const { tokens } = await ask<{ tokens: TokenView[] }>(options, 'GET', '/tokens')
    show(options, tokens, () =>
      table(
        tokens.map(one => ({ ...one, expires: date(one.expires_at) })),
        ['name', 'role', 'state', 'expires', 'last4'],
      ),
    )
  })
  command(token, 'revoke <name>', 'end a token').action(async (name: string, options: Options) => {
    await ask(options, 'DELETE', `/tokens/${encodeURIComponent(name)}`)
    show(options, { revoked: name }, () => `${name} is revoked`)
  })
}
