import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What measures CPU begins in a young process: one that holds much spends more of it on garbage, which makes it measure again. */
const MEASURED = /\/properties\/growth\.test\.ts$/

/** Short files that take long: a fresh checkout knows no durations, and begins with the largest files. */
const LONG =
  /\/(?:properties\/\w+|soak\/soak|fuzz\/fuzz|faults\/faults|jsonata\/fuzz|control\/(?:crash|full)|package\/\w+|cli\/(?:commands|overlay|process)|codegen\/(?:findings|incremental)|data\/(?:cases|fresh|scenarios|told)|engine\/allocation)\.test\.ts$/

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = (id: string): number => (MEASURED.test(id) ? 0 : LONG.test(id) ? 1 : 2)
    return sorted.sort((left, right) => rank(left.moduleId) - rank(right.moduleId))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/temporary.ts',
    setupFiles: 'test/environment.ts',
    // For machines that are busy with something else: what is asserted about time stands in the tests themselves.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 180_000, interval: 20 } },
    // Many files wait for sockets and processes: two more keep two cores busy meanwhile.
    maxWorkers: 4,
    // What takes long does not begin last, when the other workers have nothing left.
    sequence: { sequencer: LongFirst },
    pool: 'forks',
    // Properties make much garbage that dies young: with the usual room for it, a tenth of the time goes into keeping it.
    execArgv: ['--max-semi-space-size=64'],
    // A worker keeps the modules that it has: to load them anew for each file took a sixth of the time.
    isolate: false,
    // What is built is loaded by Node itself.
    server: { deps: { external: [/\/(?:dist|generated|\.sluice)\//] } },
    // What is compiled for a test is not kept among what a person uses.
    env: { XDG_CACHE_HOME: join(import.meta.dirname, '.sluice') },
  },
})
