// Revocation under load: how long after the answer to `revoke` a key is still accepted, anywhere.

import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as TreasuryModule from '../../control/budgets/treasury.js'
import type * as ChangesModule from '../../control/keys/changes.js'
import type { Keeper } from '../../control/store/keeper.js'
import { ask, createStage, type Instance, type Stage, until, untilAnswered } from './stage.js'
import { onPostgres, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { followChanges } = (await import(built('control/keys/changes.js'))) as typeof ChangesModule
const { Treasury } = (await import(built('control/budgets/treasury.js'))) as typeof TreasuryModule

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

interface Load {
  /** When each accepted request began, and when each refused one did, on the clock of `performance`. */
  accepted: number[]
  refused: number[]
  stop(): Promise<void>
}

/** Asks all instances for a list of models with a key, as fast as `width` connections to each allow. */
function load(instances: readonly Instance[], key: string, width: number): Load {
  const [accepted, refused]: [number[], number[]] = [[], []]
  const agent = new Agent({ keepAlive: true, maxSockets: width * instances.length })
  let isStopping = false
  const once = (url: string): Promise<void> =>
    new Promise(done => {
      const began = performance.now()
      const asked = request(`${url}/v1/models`, { agent, headers: { authorization: `Bearer ${key}` } }, response => {
        ;(response.statusCode === 200 ? accepted : refused).push(began)
        response.resume().on('end', done)
      })
      asked.on('error', () => done())
      asked.end()
    })
  const all = instances.flatMap(({ url }) =>
    Array.from({ length: width }, async () => {
      while (!isStopping) await once(url)
    }),
  )
  return {
    accepted,
    refused,
    async stop() {
      isStopping = true
      await Promise.all(all)
      agent.destroy()
    },
  }
}

const waitFor = async (isThere: () => boolean): Promise<void> => {
  while (!isThere()) await new Promise(done => setTimeout(done, 5))
}

/** Milliseconds from the answer to `revoke` to the last request that was let in; negative where that began before. */
async function measure(name: string, instances: readonly Instance[], key: string, revoke: () => Promise<void>): Promise<number> {
  const running = load(instances, key, 4)
  const began = performance.now()
  await waitFor(() => running.accepted.length > 400)
  await revoke()
  const revoked = performance.now()
  await waitFor(() => running.refused.length > 400 && performance.now() > revoked + 1_500)
  await running.stop()
  const last = Math.max(...running.accepted) - revoked
  const rate = (running.accepted.length / (revoked - began)) * 1000
  console.log(`${name}: ${rate.toFixed(0)} requests/s, the last one accepted began ${last.toFixed(0)} ms after revoke had returned`)
  return last
}

const secretOf = async (instance: Instance, name: string): Promise<string> =>
  (await instance.admin<{ secret: string }>('POST', '/keys', { name })).body.secret

test('two workers on SQLite refuse a revoked key within a second', async () => {
  const gateway = await stage.start({ workers: 2 })
  const last = await measure('SQLite, 2 workers', [gateway], await secretOf(gateway, 'a'), async () => {
    expect((await gateway.admin('POST', '/keys/a/revoke', {})).status).toBe(200)
  })
  expect(last).toBeLessThan(1_000)
  await gateway.stop()
})

/** The lock of `control/store/postgres.ts`. */
const LOCK_WRITES = 'select pg_advisory_xact_lock(7236511)'

/** Refuses a row of `change` whose writer does not have the turn of writes: readers would pass over one that commits later. */
const ONLY_IN_TURN = `
  create function only_in_turn() returns trigger language plpgsql as $$
  begin
    if not exists (select from pg_locks where locktype = 'advisory' and objid = 7236511 and pid = pg_backend_pid() and granted) then
      raise exception 'a row of change was written out of turn';
    end if;
    return new;
  end $$;
  create trigger only_in_turn before insert on change for each row execute function only_in_turn()`

onPostgres('on Postgres, with two instances', postgres => {
  let url: string
  let instances: Instance[]
  beforeAll(async () => {
    url = await postgres().database()
    instances = [await stage.start({ store: url }), await stage.start({ store: url })]
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(ONLY_IN_TURN)
    await client.end()
  })

  test('the other instance is notified of a revocation', async () => {
    const [first] = instances as [Instance]
    const last = await measure('Postgres, 2 instances', instances, await secretOf(first, 'b'), async () => {
      await first.admin('POST', '/keys/b/revoke', {})
    })
    expect(last).toBeLessThan(1_000)
  })

  test('the other instance finds a revocation by polling, without a notification', async () => {
    const [first] = instances as [Instance]
    const secret = await secretOf(first, 'c')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const last = await measure('Postgres, 2 instances, without a notification', instances, secret, async () => {
      // Writes what a revocation writes, without a notification.
      await client.query('begin')
      await client.query(LOCK_WRITES)
      await client.query(`update key set state = 'revoked' where name = 'c'`)
      await client.query(`insert into change (at, kind, subject_id, is_now) select 0, 'key', id, 0 from key where name = 'c'`)
      await client.query('commit')
    })
    await client.end()
    expect(last).toBeLessThan(1_000)
  })

  test('an instance without a control process refuses a revoked key once it has another', async () => {
    const [first, second] = instances as [Instance, Instance]
    const secret = await secretOf(first, 'd')
    expect((await ask(first.url, secret)).status).toBe(200)
    for (const pid of first.pids('control/main')) process.kill(pid, 'SIGKILL')
    expect((await second.admin('POST', '/keys/d/revoke', {})).status).toBe(200)
    await untilAnswered(first)
    const { status } = await until(
      () => ask(first.url, secret),
      answer => answer.status !== 200,
    )
    expect(status).toBe(403)
  })

  test('a key that was revoked while an instance was stopped is not known to it when the store is away', async () => {
    const [first, second] = instances as [Instance, Instance]
    const [revoked, valid] = [await secretOf(first, 'e'), await secretOf(first, 'f')]
    for (const secret of [revoked, valid]) expect((await ask(first.url, secret)).status).toBe(200)
    await first.stop()
    expect((await second.admin('POST', '/keys/e/revoke', {})).status).toBe(200)
    const again = await stage.start({ store: url }, first.folder)
    await postgres().stop()
    expect((await ask(again.url, valid)).status).toBe(200)
    expect((await ask(again.url, revoked)).status).toBe(503)
    await postgres().start()
  })
})

onPostgres('on Postgres, the list of changes', postgres => {
  const failures: unknown[] = []
  const keeperOf = (store: Store): Keeper =>
    ({ get: () => store, succeeded: () => undefined, failed: (error: unknown) => void failures.push(error) }) as unknown as Keeper
  /** Opens a store twice, as two instances do, and follows its changes with the second. */
  const open = async () => {
    const url = await postgres().database()
    const [mine, other] = [await openStore({ at: url, mayMigrate: true }), await openStore({ at: url, mayMigrate: true })]
    const [keys, recalled]: [number[], string[]] = [[], []]
    const changes = await followChanges(other, keeperOf(other), {
      onForget: forgotten => void keys.push(...forgotten.keys),
      onRecall: account => void recalled.push(account),
      onCertain: () => undefined,
    })
    const close = async (): Promise<void> => {
      await changes.close()
      await mine.close()
      await other.close()
    }
    return { url, mine, changes, keys, recalled, close }
  }

  test('has a revocation that commits late, however many budgets are near their limits meanwhile', async () => {
    const { mine, changes, keys, recalled, close } = await open()
    const treasury = new Treasury({ keeper: keeperOf(mine), instance: () => 1, recall: () => undefined })
    let n = 0
    const ask = (holder: string, name: string) =>
      treasury.grant({
        holder,
        n: ++n,
        money: {
          account: `key:${name}/ever`,
          limit: 100,
          until: Number.POSITIVE_INFINITY,
          wanted: 100,
          least: 100,
          useful: 100,
          isFresh: false,
        },
      })
    for (const name of ['a', 'b']) expect(await ask('first', name)).toMatchObject({ granted: 100 })
    await mine.db.transaction().execute(async trx => {
      await mine.lockWrites(trx)
      await trx.insertInto('change').values({ at: 0, kind: 'key', subject_id: 7, is_now: 0 }).execute()
      expect(await ask('second', 'a')).toMatchObject({ granted: 0, held: 100 })
      await changes.check()
      expect(keys).toEqual([])
    })
    await changes.check()
    expect(keys).toEqual([7])
    await sql.raw(ONLY_IN_TURN).execute(mine.db)
    expect(await ask('second', 'b')).toMatchObject({ granted: 0, held: 100 })
    await changes.check()
    expect(recalled).toContain('key:b/ever')
    expect(failures).toEqual([])
    await close()
  })

  test('is not whole for a worker that has missed more than fits in one message', async () => {
    const { mine, changes, close } = await open()
    await sql`insert into change (at, kind, subject_id, is_now) select 0, 'recall', 1, 0 from generate_series(1, 10000)`.execute(mine.db)
    await mine.db.insertInto('change').values({ at: 0, kind: 'key', subject_id: 7, is_now: 0 }).execute()
    while (changes.seq < 10_001) await changes.check()
    expect(await changes.since(0)).toBeUndefined()
    expect(await changes.since(10_000)).toMatchObject({ keys: [7] })
    await close()
  })
})
