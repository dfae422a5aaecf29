/** Prints the results of a language's jobs. @returns {boolean} whether there was no unexpected failure */
export function report(language, verdicts) {
  const sorted = verdicts.map(verdict => ({ ...verdict, state: stateOf(verdict) }))
  const count = (state, list = sorted) => list.filter(verdict => verdict.state === state).length
  const pairs = [...new Set(sorted.map(({ job }) => job.pair))]
  const width = Math.max(...pairs.map(pair => pair.length))
  console.log(`\n${language}`)
  for (const pair of pairs) {
    const here = sorted.filter(({ job }) => job.pair === pair)
    const words = ['passed', 'failed', 'known', 'skipped']
      .filter(state => count(state, here) > 0)
      .map(state => `${count(state, here)} ${state}`)
    console.log(`  ${pair.padEnd(width)}  ${words.join(', ')}`)
  }
  for (const { job, wrong, state, skipped } of sorted) {
    if (state === 'failed') console.log(`\nfailed: ${language} ${job.name}\n  ${wrong.join('\n  ')}`)
    const numbers = job.known.map(({ number }) => number).join(', ')
    if (state === 'known') console.log(`known (${numbers}): ${language} ${job.name}`)
    if (state === 'passed' && job.known.some(({ isSure }) => isSure))
      console.log(`passes, though known as ${numbers}; remove the mark: ${language} ${job.name}`)
    if (state === 'skipped') skips.add(skipped)
  }
  for (const why of skips) console.log(`skipped: ${why}`)
  skips.clear()
  const known = count('known') > 0 ? `, ${count('known')} known` : ''
  console.log(`\n${language}: ${count('passed')} passed, ${count('failed')} failed${known}, ${count('skipped')} skipped`)
  return count('failed') === 0
}

const skips = new Set()

const stateOf = ({ job, wrong, skipped }) => {
  if (skipped !== undefined) return 'skipped'
  if (wrong.length === 0) return 'passed'
  return job.known.length > 0 ? 'known' : 'failed'
}
