/** Compares an SDK's result with the expected one. Arguments are compared as texts, so that no digit is lost here. */

/** The reasons why an answer ended, in each dialect. */
const FINISH = {
  chat: { stop: 'stop', length: 'length', tool: 'tool_calls', filter: 'content_filter' },
  messages: { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use', filter: 'refusal' },
  generate: { stop: 'STOP', length: 'MAX_TOKENS', tool: 'STOP', filter: 'SAFETY' },
  responses: { stop: 'completed', length: 'max_output_tokens', tool: 'completed', filter: 'content_filter' },
}

/** @param {import('./jobs.mjs').Job} job */
export function judge(job, said, heard) {
  const wrong = []
  const same = (what, told, wanted) => {
    if (JSON.stringify(told) !== JSON.stringify(wanted)) wrong.push(`${what}: ${short(told)}, not ${short(wanted)}`)
  }
  if (job.fails !== undefined) failure(job, said, same, wrong)
  else if (said.error !== undefined) wrong.push(`failed: ${short(said.error)}`)
  else if (job.says.does === 'models') {
    if (!said.models.includes(job.says.model)) wrong.push(`the list lacks ${job.says.model}: ${short(said.models)}`)
    same('the one model', said.model, job.says.model)
  } else {
    same('turns', said.turns.length, job.expect.length)
    job.expect.forEach((wanted, index) => {
      const told = said.turns[index] ?? {}
      // Clients that keep one current block lose what belongs to another. Nothing is ordered anew where nothing is translated.
      if (told.open > 1 && job.client !== job.provider) wrong.push(`turn ${index + 1}: ${told.open} blocks are open at once`)
      turn(job.client, told, wanted, (what, ...two) => same(`turn ${index + 1}, ${what}`, ...two))
    })
  }
  for (const piece of job.heard) if (!unspaced(heard.text).includes(piece)) wrong.push(`the provider never heard ${short(piece)}`)
  if (heard.strange.length > 0) wrong.push(`the provider was asked at ${heard.strange.join(', ')}`)
  return wrong
}

function turn(client, told, wanted, same) {
  if (wanted.text !== undefined) same('text', told.text, wanted.text)
  if (wanted.has !== undefined && !told.text?.includes(wanted.has)) same('text', told.text, `something with ${wanted.has}`)
  if (wanted.json !== undefined) same('text', unspaced(told.text ?? ''), unspaced(wanted.json))
  if (wanted.thought !== undefined) same('thought', told.thought, wanted.thought)
  if (wanted.calls !== undefined)
    same(
      'calls',
      told.calls?.map(({ name, args }) => ({ name, args: unspaced(args) })),
      wanted.calls.map(({ name, args }) => ({ name, args: unspaced(args) })),
    )
  if (wanted.finish !== undefined) same('finish', told.finish, FINISH[client][wanted.finish])
  if (wanted.usage !== undefined) same('usage', told.usage, wanted.usage)
}

function failure(job, said, same, wrong) {
  const { error } = said
  if (error === undefined) {
    wrong.push(`no error, but ${short(said.turns ?? said)}`)
    return
  }
  const { fails } = job
  if ('classes' in fails) {
    if (!fails.classes.includes(error.class)) same('class', error, fails.classes.join(' or '))
    if (error.told !== true) wrong.push(`not told by the gateway: ${short(error)}`)
    return
  }
  same('status', error.status, fails.status)
  same('word', error.word, fails.word)
  same('class', error.class, fails.class)
  if (job.retryAfter !== undefined && error.retry_after !== undefined) same('retry-after', error.retry_after, job.retryAfter)
  if (wrong.length > 0) wrong.push(short(error))
}

/** JSON without the space between its tokens; texts in it stay as they are. */
const unspaced = text => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_all, word) => word ?? '')

const short = value => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
