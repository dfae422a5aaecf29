// The commands that call the admin API.

import { pipeline } from 'node:stream/promises'
import { Argument, type Command, Option } from 'commander'
import type { TokenView } from '../../control/admin/tokens.js'
import type { Checked } from '../../control/audit.js'
import type { AccountView } from '../../control/budgets/accounts.js'
import type { KeyView } from '../../control/keys/keys.js'
import type { TeamView } from '../../control/teams/teams.js'
import { duration, LATEST } from '../../engine/core/durations.js'
import { NANO } from '../../engine/core/usage.js'
import { EXIT } from '../exit-codes.js'
import { CommandError, documentOf, UsageError } from '../output.js'
import { table } from '../table.js'
import { instant } from '../times.js'
import { ask, askAll, cutOff, open, query, refuseTaken, type Where } from './client.js'
import { readText } from './files.js'
import { readDump, type Source } from './import.js'
import { type Reconciled, reconcile } from './reconcile.js'
import { askUsage, type UsageRow } from './usage.js'

type Options = Where & { json?: boolean }

const DAY = 86_400_000

/** `90m`, `24h`, `7d` in milliseconds; `0` is 0. */
function timeSpan(text: string): number {
  if (text === '0') return 0
  const time = duration(text)
  if (time === undefined || time > Date.now()) throw new UsageError(`${text} is not a time: write one such as 24h or 7d.`)
  return time
}

/** A date, a date with a time, or a time from now such as `30d`, in milliseconds since 1970; null for `never`. */
function moment(text: string): number | null {
  if (text === 'never') return null
  const span = duration(text)
  const time = span === undefined ? instant(text) : Date.now() + span
  if (time === undefined || time > LATEST)
    throw new UsageError(`${text || "''"} is not a date: write one such as 2027-01-31, a time such as 30d, or never.`)
  if (time <= Date.now()) throw new UsageError(`${text} is over: write a later time.`)
  return time
}

/** The beginning of a period: for `7d`, the beginning of the day 7 days ago. */
function since(text: string): number {
  const from = Date.now() - timeSpan(text)
  return text.endsWith('d') ? Math.floor(from / DAY) * DAY : from
}

/** Prints an answer of the admin API: as a text, or as the document of every command. `ok`: nothing is wrong with what was asked about. */
function show(options: Options, answer: object, text: () => string, ok = true): void {
  console.log(options.json ? documentOf(ok, [], { ...answer }) : text())
  if (!ok) process.exitCode = EXIT.findings
}

/** The same of one thing with all its members, which have no text of their own. */
const showWhole = (options: Options, answer: object): void => show(options, answer, () => JSON.stringify(answer, undefined, 2))

/** To the minute, in the form in which the commands take dates. */
const date = (time: number | null): string | null => (time === null ? null : `${new Date(time).toISOString().slice(0, 16)}Z`)

/** The fields that a command changes. */
function changed(fields: Record<string, unknown>): Record<string, unknown> {
  if (Object.keys(fields).length === 0) throw new UsageError('Name what to change: --help lists the options.')
  return fields
}

/** A number of 0 or more. */
function amount(text: string, option: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!(value >= 0)) throw new UsageError(`${option} must be a number of 0 or more, not ${text}.`)
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
  if (days.length === 0) lines.push('No day of the export has ended.')
  else lines.push(`${provider} (${upstreams.join(', ')}), ${days[0]} to ${days.at(-1)}: ${all.join('; ')}`)
  if (skipped.length > 0) lines.push(`Not compared, because the day has not ended: ${skipped.join(', ')}`)
  lines.push(`compared (a model and a day each): ${compared}; differences: ${differences.length}`)
  return lines.join('\n')
}

/** The state of a key or a token, which is over when its time is. */
const stateOf = ({ state, expires_at: end }: Pick<KeyView | TokenView, 'state' | 'expires_at'>): string =>
  state === 'active' && end !== null && end <= Date.now() ? 'expired' : state

const keyRow = (key: KeyView): Record<string, unknown> => ({
  name: key.name,
  state: stateOf(key),
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
  limit?: string[]
  disable?: boolean
  enable?: boolean
}

/** `any` removes a limit. */
const patternsOf = (list: string[]): string[] | null => (list.includes('any') ? null : list)

function fieldsOf(options: KeyOptions): Record<string, unknown> {
  const { team, group, model, route, ip, tag, expires, budget, limit } = options
  return {
    ...(team !== undefined && { team: team === 'none' ? null : team }),
    ...(group && { groups: group }),
    ...(model && { models: patternsOf(model) }),
    ...(route && { routes: patternsOf(route) }),
    ...(ip && { ips: patternsOf(ip) }),
    ...(tag && { tags: tag.filter(one => one !== 'none') }),
    ...(expires !== undefined && { expires_at: moment(expires) }),
    ...standingOf({ budget, limit }),
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
    ...standingOf({ budget, limit }),
  }
}

/** Limits and budgets in the admin API's form; `none` removes them. */
function standingOf({ budget, limit }: Record<'budget' | 'limit', string[] | undefined>): Record<string, unknown> {
  return {
    ...(limit && { limits: limit.includes('none') ? null : limitsOf(limit) }),
    ...(budget && { budgets: budget.includes('none') ? null : budget.map(one => ({ limit: one })) }),
  }
}

/** `requests:60/1m in_flight:4` in the admin API's form. */
function limitsOf(words: readonly string[]): Record<string, string[] | number> {
  const limits: Record<string, string[] | number> = {}
  for (const word of words) {
    const [kind = '', value = ''] = word.split(':')
    if (value === '') throw new UsageError(`${word} is not a limit: write one such as requests:60/1m, tokens:100000/1m or in_flight:4.`)
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
      .option('--budget <amounts...>', 'the common budget of its keys: 100/month, with hour, day, week, month or ever; none for no budget')
      .option('--limit <limits...>', 'the common limits of its keys: requests:60/1m, tokens:100000/1m, in_flight:4; none for no limit')
      .option('--note <text>', 'a description')
  const path = (name: string): string => `/teams/${encodeURIComponent(name)}`
  const teams = program.command('teams').description('manage teams: keys with common limits and budgets')
  withFields(command(teams, 'create <name>', 'create a team; keys that name it belong to it')).action(
    async (name: string, options: TeamOptions) => {
      const team = await ask<TeamView>(options, 'POST', '/teams', { name, ...teamFields(options) })
      show(options, team, () => table([teamRow(team)], TEAM_COLUMNS))
    },
  )
  command(teams, 'list', 'list teams by name').action(async (options: Options) => {
    const { items } = await askAll(options, '/teams', { limit: 200 }, (page: { teams: TeamView[]; next: string | null }) => page.teams)
    show(options, { teams: items }, () => table(items.map(teamRow), TEAM_COLUMNS))
  })
  command(teams, 'show <name>', 'one team').action(async (name: string, options: Options) => {
    showWhole(options, await ask<TeamView>(options, 'GET', path(name)))
  })
  withFields(command(teams, 'set <name>', 'change a team'))
    .addOption(new Option('--disable', 'disable a team: its keys are refused').conflicts('enable'))
    .option('--enable', 'enable a team again')
    .action(async (name: string, options: TeamOptions) => {
      const state = options.disable ? { state: 'disabled' } : options.enable ? { state: 'active' } : {}
      const team = await ask<TeamView>(options, 'PATCH', path(name), changed({ ...teamFields(options), ...state }))
      show(options, team, () => table([teamRow(team)], TEAM_COLUMNS))
    })
}

/** The filters of a list of exchanges. */
interface Filters {
  since: string
  key?: string
  model?: string
  target?: string
  endUser?: string
  session?: string
  failed?: boolean
  limit: string
}

interface BudgetPage {
  currency: string
  budgets: AccountView[]
  next: string | null
}

/** The most entries of the audit log in a page. */
const MOST_ENTRIES = 200

interface AuditPage {
  entries: Record<string, unknown>[]
  next: number | null
}

/** The newest entries of the audit log, `most` of them, and whether there are more. */
async function newestEntries(options: Where, most: number): Promise<{ entries: AuditPage['entries']; isCut: boolean }> {
  const entries: AuditPage['entries'] = []
  for (let before: number | undefined; ; ) {
    const limit = Math.min(MOST_ENTRIES, most - entries.length)
    const page = await ask<AuditPage>(options, 'GET', `/audit${query({ before, limit })}`)
    entries.push(...page.entries)
    before = page.next ?? undefined
    if (before === undefined || entries.length >= most) return { entries, isCut: before !== undefined }
  }
}

interface InstanceView {
  public_id: string
  host: string
  started_at: number
  seen_at: number
  config_hash: string | null
}

/** Adds the commands; each calls the local gateway unless an option names another. */
export function addAdminCommands(program: Command): void {
  const command = (parent: Command, words: string, description: string): Command =>
    parent
      .command(words)
      .description(description)
      .option('--config <file>', 'the configuration with the store (default: gateway.yaml if it exists)')
      .option('--url <address>', 'the address of a remote admin API, with a token in SLUICE_ADMIN_TOKEN')
      .option('--json', 'as JSON')
  const withFields = (one: Command): Command =>
    one
      .option('--team <name>', 'the team of the key; none for no team')
      .option('--group <names...>', 'the groups whose models it may use')
      .option('--model <patterns...>', 'the models of these groups that it may use; any for all')
      .option('--route <patterns...>', 'the routes that it may use; any for all')
      .option('--ip <ranges...>', 'the addresses that it may be used from; any for all')
      .option('--tag <words...>', 'tags of its exchanges in the ledger; none for no tags')
      .option('--expires <when>', 'a date, a time from now such as 30d, or never')
      .option('--budget <amounts...>', 'its budget: 1/day, with hour, day, week, month or ever; none for no own budget')
      .option('--limit <limits...>', 'its limits: requests:60/1m, tokens:100000/1m, in_flight:4; none for no own limits')
  const path = (name: string): string => `/keys/${encodeURIComponent(name)}`

  const keys = program.command('keys').description('manage API keys')
  withFields(command(keys, 'create <name>', 'create a key; it is shown only once')).action(async (name: string, options: KeyOptions) => {
    if (options.url === undefined) refuseTaken(options.config, name)
    const made = await ask<{ key: KeyView; secret: string }>(options, 'POST', '/keys', { name, ...fieldsOf(options) })
    show(options, made, () => made.secret)
  })
  command(keys, 'list', 'list keys by name').action(async (options: Options) => {
    const { items } = await askAll(options, '/keys', { limit: 200 }, (page: { keys: KeyView[]; next: string | null }) => page.keys)
    show(options, { keys: items }, () => table(items.map(keyRow), KEY_COLUMNS))
  })
  command(keys, 'show <name>', 'one key').action(async (name: string, options: Options) => {
    showWhole(options, await ask<KeyView>(options, 'GET', path(name)))
  })
  withFields(command(keys, 'set <name>', 'change a key'))
    .addOption(new Option('--disable', 'disable a key').conflicts('enable'))
    .option('--enable', 'enable a key again')
    .action(async (name: string, options: KeyOptions) => {
      const state = options.disable ? { state: 'disabled' } : options.enable ? { state: 'active' } : {}
      const key = await ask<KeyView>(options, 'PATCH', path(name), changed({ ...fieldsOf(options), ...state }))
      show(options, key, () => table([keyRow(key)], KEY_COLUMNS))
    })
  command(keys, 'rotate <name>', 'replace the secret of a key')
    .option('--grace <time>', 'how long the old secret stays valid', '1d')
    .action(async (name: string, options: Options & { grace: string }) => {
      const made = await ask<{ secret: string }>(options, 'POST', `${path(name)}/rotate`, { grace_ms: timeSpan(options.grace) })
      show(options, made, () => made.secret)
    })
  command(keys, 'revoke <name>', 'revoke a key for ever')
    .option('--now', 'also end its requests under way')
    .action(async (name: string, options: Options & { now?: boolean }) => {
      const key = await ask<KeyView>(options, 'POST', `${path(name)}/revoke`, { now: options.now === true })
      show(options, key, () => `${key.name} is revoked`)
    })
  command(keys, 'import', 'import keys of litellm, new-api, or your own csv; callers keep their keys')
    .addArgument(new Argument('<source>', 'whose').choices(['litellm', 'new-api', 'csv']))
    .argument('<file>', 'the dump, as CSV or JSON')
    .action(async (source: Source, file: string, options: Options) => {
      const { keys: imported, notes } = readDump(source, readText(file))
      if (imported.length === 0) throw new CommandError(`There are no keys in ${file}.`)
      const answer = await ask<{ imported: number }>(options, 'POST', '/keys/import', { keys: imported })
      show(options, { ...answer, notes }, () => [`${answer.imported} keys`, ...notes].join('\n'))
    })

  addTeams(program, command)

  const budgets = program.command('budgets').description('show budgets')
  command(budgets, 'list', 'list budgets in their current windows').action(async (options: Options) => {
    const { first, items } = await askAll(options, '/budgets', { limit: 1_000 }, (page: BudgetPage) => page.budgets)
    const amount = (nano: number): string => `${(nano / NANO).toFixed(6)} ${first.currency}`
    show(options, { currency: first.currency, budgets: items }, () =>
      table(
        items.map(one => ({
          ...one,
          limit: amount(one.limit),
          spent: amount(one.spent),
          out: amount(one.out),
          resets: date(one.resets_at),
        })),
        ['budget', 'window', 'limit', 'spent', 'out', 'resets'],
      ),
    )
  })

  command(program, 'usage', 'show requests and their cost')
    .option(
      '--by <what>',
      'key, model, target, group, day, hour, team, end_user, session, tags, route, region or status, with commas',
      'model',
    )
    .option('--since <time>', 'how far back, such as 24h or 7d', '7d')
    .option('--key <name>', 'only this key')
    .option('--model <name>', 'only this model')
    .action(async (options: Options & { by: string; since: string; key?: string; model?: string }) => {
      const { by, key, model } = options
      const { first, items } = await askUsage(options, { by, from: since(options.since), key, model })
      const { next, ...rest } = first
      const money = (row: UsageRow, name: string): string | null => {
        // A member does not see the cost.
        if (row[name] === undefined) return null
        const counted = (row.input as number) > 0 || (row.output as number) > 0
        return row.unpriced === row.n && counted
          ? 'no price'
          : `${((row[name] as number) / 1e9).toFixed(6)} ${first.currency}${(row.unpriced as number) > 0 ? ' +' : ''}`
      }
      const rows = items.map(row => ({
        ...row,
        ms: Math.round((row.ms_sum as number) / (row.n as number)),
        cost: money(row, 'cost'),
        charge: money(row, 'charge'),
      }))
      show(options, { ...rest, rows: items }, () =>
        table(rows, [...by.split(','), 'n', 'failures', 'input', 'output', 'cached', 'cost', 'charge', 'ms']),
      )
    })

  const ledger = program.command('ledger').description('every exchange')
  command(ledger, 'export', 'write rows, or costs by day, to standard output, oldest first')
    .addOption(
      new Option('--format <format>', 'csv, ndjson, or focus: costs by day in the columns of FOCUS 1.0')
        .choices(['csv', 'ndjson', 'focus'])
        .default('csv'),
    )
    .option('--since <time>', 'how far back, such as 24h or 30d', '30d')
    .action(async (options: Options & { format: string; since: string }) => {
      const answer = await open(options, 'GET', `/ledger/export${query({ format: options.format, from: since(options.since) })}`)
      await pipeline(answer, process.stdout, { end: false }).catch(error => Promise.reject(cutOff(error as Error)))
    })
  command(ledger, 'list', 'list exchanges, newest first')
    .option('--since <time>', 'how far back, such as 24h or 7d', '7d')
    .option('--key <name>', 'only of this key')
    .option('--model <name>', 'only of this model')
    .option('--target <name>', 'only of this target')
    .option('--end-user <name>', 'only of this end user')
    .option('--session <name>', 'only of this session')
    .option('--failed', 'only with a status of 400 or more')
    .option('--limit <number>', 'how many, at most 200', '50')
    .action(async (options: Options & Filters) => {
      const { key, model, target, endUser, session, failed, limit } = options
      const filters = { key, model, target, end_user: endUser, session, failed, limit }
      const found = await ask<{ exchanges: Record<string, unknown>[] }>(
        options,
        'GET',
        `/exchanges${query({ from: since(options.since), ...filters })}`,
      )
      show(options, found, () =>
        table(found.exchanges, ['at', 'id', 'key', 'model', 'target', 'status', 'ended', 'input', 'output', 'total_ms']),
      )
    })
  command(ledger, 'show <id>', 'show one exchange, by the request id').action(async (id: string, options: Options) => {
    showWhole(options, await ask<Record<string, unknown>>(options, 'GET', `/exchanges/${encodeURIComponent(id)}`))
  })
  command(ledger, 'verify', 'check that rollups and rows agree').action(async (options: Options) => {
    const found = await ask<{ rows: number; differences: Record<string, unknown> }>(options, 'GET', '/ledger/verify')
    const isSame = Object.keys(found.differences).length === 0
    const text = isSame ? 'every rollup agrees' : `rollups that differ: ${JSON.stringify(found.differences)}`
    show(options, found, () => `${found.rows} rows, and ${text}`, isSame)
  })

  command(ledger, 'reconcile <files...>', "the ledger beside a provider's own export of costs or usage, by day and model")
    .option('--upstream <names...>', "the upstreams to compare (default: those of the export's provider in the file)")
    .option('--tolerance <percent>', 'the tolerated difference of figures', '1%')
    .option('--least <amount>', 'smaller differences of money are ignored', '0.01')
    .option('--today', 'also compare the day that has not ended')
    .action(async (files: string[], options: Options & { upstream?: string[]; tolerance: string; least: string; today?: boolean }) => {
      const found = await reconcile(files, {
        ...options,
        tolerance: amount(options.tolerance.replace(/%$/, ''), '--tolerance') / 100,
        least: amount(options.least, '--least'),
      })
      show(options, found, () => reconciledText(found), found.differences.length === 0 && found.days.length > 0)
    })

  const audit = program.command('audit').description('show changes by administrators')
  command(audit, 'list', 'list entries, newest first')
    .option('--limit <number>', 'how many, or all', '200')
    .action(async (options: Options & { limit: string }) => {
      if (!/^([1-9]\d{0,14}|all)$/.test(options.limit))
        throw new UsageError(`--limit must be a whole number from 1, or all, not ${options.limit}.`)
      const { entries, isCut } = await newestEntries(options, options.limit === 'all' ? Number.POSITIVE_INFINITY : Number(options.limit))
      if (isCut) console.error(`Only the newest ${entries.length} entries: --limit all lists all.`)
      show(options, { entries }, () =>
        table(
          entries.map(entry => ({ ...entry, at: date(entry.at as number) })),
          ['seq', 'at', 'actor', 'via', 'operation', 'subject'],
        ),
      )
    })
  command(audit, 'verify', 'check that no entry was changed, or removed before others')
    .option('--head <entry>', "a head from the gateway's log: check that the entries up to it are there, too")
    .action(async (options: Options & { head?: string }) => {
      const found = await ask<Checked>(options, 'GET', `/audit/verify${query({ head: options.head })}`)
      const text = (): string =>
        found.broken === null
          ? `${found.entries} entries, none changed${found.head === null ? '' : `; the head is ${found.head}`}`
          : `entry ${found.broken} is not what was written`
      show(options, found, text, found.broken === null)
    })

  command(program, 'instances', 'show the instances on the store, and the workers of the one that answers').action(
    async (options: Options) => {
      const found = await ask<{ instances: InstanceView[]; workers: object[] }>(options, 'GET', '/instances')
      show(options, found, () =>
        table(
          found.instances.map(one => ({
            ...one,
            id: one.public_id,
            started: date(one.started_at),
            seen: date(one.seen_at),
            config: one.config_hash,
          })),
          ['id', 'host', 'started', 'seen', 'config'],
        ),
      )
    },
  )

  const token = program.command('token').description('manage tokens of the admin API')
  command(token, 'create <name>', 'create a token; it is shown only once')
    .requiredOption('--role <role>', 'its role: owner, admin, operator, auditor, manager or member')
    .option('--team <names...>', 'the teams of a manager')
    .option('--group <names...>', 'the groups into which a manager may put keys (default: only the group default)')
    .option('--key <names...>', 'the keys of a member')
    .option('--expires <when>', 'a date, a time from now such as 30d, or never', 'never')
    .action(
      async (name: string, options: Options & { role: string; expires: string; team?: string[]; group?: string[]; key?: string[] }) => {
        const made = await ask<{ secret: string }>(options, 'POST', '/tokens', {
          name,
          role: options.role,
          expires_at: moment(options.expires),
          ...(options.team && { teams: options.team }),
          ...(options.group && { groups: options.group }),
          ...(options.key && { keys: options.key }),
        })
        show(options, made, () => made.secret)
      },
    )
  token
    .command('first <link>')
    .description('create the first token with the link from the first start; it is shown only once')
    .option('--json', 'as JSON')
    .action(async (link: string, options: Options) => {
      const response = await fetch(link, { method: 'POST', redirect: 'error' }).catch(() => undefined)
      const said = (await response?.json().catch(() => undefined)) as { secret?: string; title?: string } | undefined
      if (said?.secret === undefined) throw new CommandError(said?.title ?? 'No gateway answers at this link.')
      show(options, said, () => said.secret as string)
    })
  command(token, 'list', 'list tokens, without their secrets').action(async (options: Options) => {
    const { tokens } = await ask<{ tokens: TokenView[] }>(options, 'GET', '/tokens')
    show(options, { tokens }, () =>
      table(
        tokens.map(one => ({ ...one, state: stateOf(one), expires: date(one.expires_at) })),
        ['name', 'role', 'state', 'expires', 'last4'],
      ),
    )
  })
  command(token, 'revoke <name>', 'end a token').action(async (name: string, options: Options) => {
    await ask(options, 'DELETE', `/tokens/${encodeURIComponent(name)}`)
    show(options, { revoked: name }, () => `${name} is revoked`)
  })
}
