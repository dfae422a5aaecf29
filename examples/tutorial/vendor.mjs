// Stands in for the vendors of docs/tutorial.md, so that it can be followed without an account: node vendor.mjs [port]
// Four APIs: verdicts, chat with quirks, videos as tasks, and texts, whole or as a stream.

import { createServer } from 'node:http'

const tasks = new Map()

const server = createServer(async (request, response) => {
  const { pathname, searchParams, origin } = new URL(request.url, `http://${request.headers.host}`)
  const answer = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
  const refuse = (status, message) => answer(status, { error: { message } })
  let text = ''
  for await (const part of request) text += part
  const body = text === '' ? {} : JSON.parse(text)

  // Verdicts: text in, flags out.
  if (request.method === 'POST' && pathname === '/v1/verdicts') {
    const results = [body.input].flat().map(input => {
      const violence = /fight/.test(input) ? 0.9 : 0.01
      return { flagged: violence > 0.5, categories: { violence: violence > 0.5 }, category_scores: { violence } }
    })
    return answer(200, { id: 'verdict-1', model: body.model, results })
  }

  // Chat, nearly as everybody has it: the key stands in the query, `seed` is refused, and `max_tokens` has another name.
  if (request.method === 'POST' && pathname === '/quirky/chat') {
    if (searchParams.get('api_key') !== 'quirky-key') return refuse(401, 'no api_key')
    for (const member of ['seed', 'max_tokens', 'max_completion_tokens'])
      if (member in body) return refuse(400, `unknown parameter ${member}`)
    const content = `${body.max_new_tokens ?? 'no'} tokens at most`
    return answer(200, {
      id: 'q-1',
      object: 'chat.completion',
      created: 1700000000,
      model: body.model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
    })
  }

  // Videos: a task is made, asked for, and has an address when it is done, which is the second time somebody asks.
  if (request.method === 'POST' && pathname === '/clips') {
    if (typeof body.text !== 'string') return answer(400, { problem: 'text is missing' })
    const id = `clip-${tasks.size + 1}`
    tasks.set(id, { asked: 0, ...body })
    return answer(202, { clip: id, state: 'waiting' })
  }
  const clip = /^\/clips\/([^/]+)$/.exec(pathname)?.[1]
  if (request.method === 'GET' && clip !== undefined) {
    const task = tasks.get(clip)
    if (task === undefined) return answer(404, { problem: 'no such clip' })
    task.asked++
    const isDone = task.asked > 1
    return answer(200, { clip, state: isDone ? 'done' : 'working', ...(isDone && { file: `${origin}/files/${clip}.mp4` }) })
  }
  if (pathname.startsWith('/files/')) {
    response.writeHead(200, { 'content-type': 'video/mp4' })
    return response.end('the bytes of a film')
  }

  // Texts: whole, or event by event.
  if (request.method === 'POST' && pathname === '/texts') {
    const words = ['Once', ' upon', ' a', ' time'].slice(0, body.length ?? 4)
    const why = words.length < 4 ? 'cut' : 'over'
    const counted = { read: 2, written: words.length }
    if (!body.live) return answer(200, { text: words.join(''), why, counted })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const word of words) response.write(`data: ${JSON.stringify({ piece: word })}\n\n`)
    return response.end(`data: ${JSON.stringify({ over: true, why, counted })}\n\n`)
  }
  refuse(404, `nothing is at ${request.method} ${pathname}`)
})

server.listen(Number(process.argv[2] ?? 9090), '127.0.0.1')
