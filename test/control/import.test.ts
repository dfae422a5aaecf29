// Dumps of other gateways' keys: what becomes of each setting, and what is told of the others.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as ImportModule from '../../cli/admin/import.js'

const built = pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', 'cli', 'admin', 'import.js')).href
const { readDump } = (await import(built)) as typeof ImportModule

const HASH = 'a'.repeat(64)
const litellm = (more: object): ImportModule.Dump => readDump('litellm', JSON.stringify([{ token: HASH, key_alias: 'k', ...more }]))
const newApi = (more: object): ImportModule.Dump => readDump('new-api', JSON.stringify([{ key: 'x'.repeat(48), name: 'k', ...more }]))

describe('a time', () => {
  const at = Date.UTC(2027, 0, 1)
  test.each([
    ['2027-01-01', at],
    ['2027-01-01 00:00:00', at],
    ['2027-01-01T00:00:00.000Z', at],
    ['2027-01-01 02:00:00+02', at],
    ['2026-12-31T19:00:00-05:00', at],
    ['NULL', null],
    ['\\N', null],
    ['', null],
  ])("'%s' is read, without a zone as UTC", (expires, time) => {
    for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York']) {
      process.env.TZ = zone
      expect(litellm({ expires }).keys[0]?.expires_at).toBe(time)
      expect(readDump('csv', `name,sha256,expires\nk,${HASH},${expires}\n`).keys[0]?.expires_at).toBe(time)
    }
    delete process.env.TZ
  })

  test.each(['31.12.2026', '30d', '1800000000', '2027-02-30', '2027-13-01', '5', 'soon'])("'%s' is an error, and not for ever", expires => {
    expect(() => litellm({ expires })).toThrow(`Row 1: expires is '${expires}', not a date such as 2027-01-31`)
    expect(() => readDump('csv', `name,sha256,expires\nk,${HASH},\nl,${HASH},${expires}\n`)).toThrow(`Row 2: expires is '${expires}'`)
  })
})

describe('of LiteLLM', () => {
  test.each([
    [{ max_budget: 10 }, '10/ever'],
    [{ max_budget: 10, spend: 2.5 }, '7.5/ever'],
    [{ max_budget: 10, spend: 12 }, '0/ever'],
    [{ max_budget: '0.25', budget_duration: '24h' }, '0.25/day'],
    [{ max_budget: 10, budget_duration: '1h' }, '10/hour'],
    [{ max_budget: 10, budget_duration: '7d' }, '10/week'],
    [{ max_budget: 10, budget_duration: '30d' }, '10/month'],
    [{ max_budget: 10, budget_duration: '1mo' }, '10/month'],
    // A longer window permits less.
    [{ max_budget: 10, budget_duration: '5d' }, '10/week'],
    [{ max_budget: 10, budget_duration: '2mo' }, '10/ever'],
  ])('the budget %j is %s', (row, limit) => {
    const { keys, notes } = litellm(row)
    expect(keys[0]?.budgets).toEqual([{ limit }])
    expect(notes.length).toBeGreaterThan(0)
  })

  test('a budget that cannot be read is an error', () => {
    expect(() => litellm({ max_budget: 'much' })).toThrow("Row 1: max_budget is 'much', not an amount.")
    expect(() => litellm({ max_budget: 1, budget_duration: 'often' })).toThrow("Row 1: budget_duration is 'often', not a time such as 30d.")
  })

  test('tags are taken, and what has no counterpart is told', () => {
    const { keys, notes } = litellm({
      metadata: { tags: ['a', 'b c'] },
      models: ['all-team-models'],
      team_id: 'red',
      allowed_routes: ['/v1/embeddings'],
      model_max_budget: { m: 1 },
      permissions: {},
    })
    expect(keys).toMatchObject([{ tags: ['a'], models: null, team: 'red', disabled: true }])
    expect(notes).toEqual([
      '1 key: disabled, because the models of its team are not in this file; see `keys set --model` and `keys set --enable`',
      '1 key: disabled, because allowed_routes has no counterpart; see `keys set --enable`',
      '1 key: disabled, because model_max_budget has no counterpart; see `keys set --enable`',
      '1 key: some of its tags are not imported, because they have blanks or commas, or are too many',
    ])
  })

  test.each([
    [{ models: ['all-team-models'] }],
    [{ models: ['m', 'all-team-models'], team_id: 'red' }],
    [{ models: [], team_id: 'red' }],
    [{ allowed_routes: '{info_routes}' }],
    [{ model_max_budget: '{"m": 1}' }],
    [{ budget_limits: [{ max_budget: 1, budget_duration: '1d' }] }],
    [{ budget_id: 'small' }],
    [{ metadata: { model_rpm_limit: { m: 1 } } }],
    [{ metadata: '{"model_tpm_limit": {"m": 1}}' }],
    [{ metadata: { guardrails: ['pii-mask'] } }],
    [{ metadata: { policies: ['strict'] } }],
    [{ metadata: { prompts: ['p'] } }],
    [{ metadata: '{"enforced_params": ["user"]}' }],
    [{ metadata: { allowed_passthrough_routes: ['/x'] } }],
    [{ metadata: { allowed_vector_store_indexes: [{ index_name: 'i' }] } }],
    [{ metadata: { enforced_file_expires_after: { anchor: 'created_at', days: 1 } } }],
    [{ metadata: { enforced_batch_output_expires_after: { anchor: 'created_at', days: 1 } } }],
    [{ metadata: { end_user_budget_id: 'small' } }],
    [{ policies: '{strict}' }],
    // There, a limit of 0 permits nothing.
    [{ rpm_limit: 0 }],
    [{ tpm_limit: '0' }],
    [{ max_parallel_requests: 0 }],
  ])('a key with a restriction that has no counterpart, %j, is imported disabled', row => {
    const { keys, notes } = litellm(row)
    expect(keys[0]?.disabled).toBe(true)
    expect(notes).toEqual([expect.stringMatching(/^1 key: disabled, because .*; see .*`keys set --enable`$/)])
  })

  test.each([
    ['blocked', 'perhaps'],
    ['rpm_limit', 'many'],
    ['tpm_limit', -1],
    ['max_parallel_requests', 1.5],
    ['spend', 'much'],
    ['metadata', '{"tags": ['],
  ])('%s of %j is an error', (member, value) => {
    expect(() => litellm({ max_budget: 1, [member]: value })).toThrow(`Row 1: ${member} is '${value}', not `)
  })

  test('a limit that is higher than any here is the highest here', () => {
    const { keys, notes } = litellm({ max_budget: 1e12, tpm_limit: '9223372036854775807', max_parallel_requests: 1e9 })
    expect(keys[0]).toMatchObject({ budgets: [{ limit: '8999999/ever' }], limits: { tokens: ['999999999999/1m'], in_flight: 1_000_000 } })
    expect(notes).toContain('1 key: its budget is 8999999, the most that a budget can be')
  })

  test('a member of metadata that restricts nothing is told, and the key stays enabled', () => {
    const { keys, notes } = litellm({ metadata: { tags: ['a'], logging: [{ callback_name: 'x' }], email: 'a@b.example', guardrails: [] } })
    expect(keys).toMatchObject([{ tags: ['a'], disabled: false }])
    expect(notes).toEqual(['1 key: logging in metadata is not imported', '1 key: email in metadata is not imported'])
  })

  test('metadata without a value has no tags', () => {
    for (const metadata of [null, 'null', 'NULL', '', '[]'])
      expect(litellm({ metadata })).toMatchObject({ keys: [{ tags: [] }], notes: [] })
  })

  test('a key that has nothing more is imported without a word', () => {
    expect(
      litellm({ models: ['m'], team_id: 'red', metadata: {}, allowed_routes: [], spend: 3, config: {}, permissions: {} }).notes,
    ).toEqual([])
  })
})

describe('of new-api', () => {
  test('a quota is a budget, unless it is unlimited', () => {
    expect(newApi({ remain_quota: 250_000, unlimited_quota: 0 }).keys[0]?.budgets).toEqual([{ limit: '0.5/ever' }])
    expect(newApi({ remain_quota: -1, unlimited_quota: false }).keys[0]?.budgets).toEqual([{ limit: '0/ever' }])
    expect(newApi({ remain_quota: 250_000, unlimited_quota: 1 })).toMatchObject({ keys: [{ budgets: null }], notes: [] })
    expect(() => newApi({ remain_quota: 'x' })).toThrow("Row 1: remain_quota is 'x', not a number of points.")
  })

  test('a key is left out only if it was deleted', () => {
    const text = (deleted: string): string => `key,name,deleted_at\n${'x'.repeat(48)},k,${deleted}\n`
    for (const deleted of ['', 'NULL', '\\N']) expect(readDump('new-api', text(deleted)).keys).toHaveLength(1)
    expect(readDump('new-api', text('2026-01-01 00:00:00')).keys).toEqual([])
  })

  test.each(['soon', '1e30', '1.5', '2027-01-01'])('an expiry of %s is an error', expired_time => {
    expect(() => newApi({ expired_time })).toThrow(`Row 1: expired_time is '${expired_time}', not a time in seconds or -1`)
  })

  test('only an expiry of -1, or none, is never', () => {
    for (const expired_time of [-1, '-1', '', null]) expect(newApi({ expired_time }).keys[0]?.expires_at).toBeNull()
    for (const expired_time of [0, -2]) expect(newApi({ expired_time }).keys[0]?.expires_at).toBe(0)
    expect(newApi({ expired_time: '1800000000' }).keys[0]?.expires_at).toBe(1_800_000_000_000)
  })

  test('a limit of models without models permits none', () => {
    expect(newApi({ model_limits_enabled: 1, model_limits: '' }).keys[0]?.models).toEqual([])
    expect(newApi({ model_limits_enabled: true, model_limits: 'a, b' }).keys[0]?.models).toEqual(['a', 'b'])
    expect(newApi({ model_limits_enabled: 0, model_limits: 'a' }).keys[0]?.models).toBeNull()
  })

  test('a limit that cannot be read is an error', () => {
    expect(() => newApi({ model_limits_enabled: 'yes', model_limits: 'a' })).toThrow(
      "Row 1: model_limits_enabled is 'yes', not true or false",
    )
    expect(() => newApi({ unlimited_quota: 0 })).toThrow("Row 1: remain_quota is '', not a number of points")
  })

  test('a column that is not known is told', () => {
    expect(newApi({ id: 1, used_quota: 5, some_rule: 'x' }).notes).toEqual(['1 key: some_rule is not imported'])
  })
})

test('a column that our own format does not have is an error', () => {
  expect(() => readDump('csv', `name,sha256,group\nk,${HASH},x\n`)).toThrow('There is no column group: did you mean groups?')
  expect(() => readDump('csv', `name;sha256\nk;${HASH}\n`)).toThrow('There is no column name;sha256. The columns are name, ')
})

test('a file that cannot be read is an error', () => {
  expect(() => readDump('csv', '[1')).toThrow('The file is no JSON list: ')
  expect(() => readDump('csv', 'a,b\n"x')).toThrow('The file is no CSV with a header: ')
  expect(() => readDump('csv', '[null]')).toThrow('Row 1 is no object.')
  expect(() => readDump('litellm', '[["a"]]')).toThrow('Row 1 is no object.')
  expect(readDump('csv', `\uFEFF[{"name":"k","sha256":"${HASH}"}]`).keys).toHaveLength(1)
})

test('a row with too few or too many values is an error, because one of them may be a limit', () => {
  expect(() => readDump('csv', `name,sha256,models,expires\nk,${HASH},m\n`)).toThrow(/^The file is no CSV with a header: .*line 2/)
  expect(() => readDump('csv', `name,sha256,models\nk,${HASH},m,n\n`)).toThrow(/^The file is no CSV with a header: .*line 2/)
})
