// Tasks: one request begins them, others query them. A task advances with each query, never by the clock, so that a test
// knows its state.

import { createHash } from 'node:crypto'
import type { FilledScript, Options, State, TaskView } from './script.js'

type Task = { id: string; model: string; from: string | undefined; asked: Options; script: FilledScript; looks: number }

export type Tasks = {
  begin(model: string, script: FilledScript, asked: Options, from?: string): TaskView
  /** The task with an id; with `look` it advances one step. */
  find(id: string, look?: boolean): TaskView | undefined
  end(id: string): void
  all(): TaskView[]
}

const MOST = 10_000

export function tasks(): Tasks {
  const known = new Map<string, Task>()
  let count = 0
  return {
    begin(model, script, asked, from) {
      const id = createHash('sha256').update(`${model} ${count++}`).digest('hex').slice(0, 24)
      const task: Task = { id, model, from, asked, script, looks: 0 }
      if (known.size >= MOST) known.delete(known.keys().next().value as string)
      known.set(id, task)
      return view(task)
    },
    find(id, look = false) {
      const task = known.get(id)
      if (!task) return undefined
      if (look) task.looks++
      return view(task)
    },
    end: id => void known.delete(id),
    all: () => [...known.values()].map(view),
  }
}

function view({ id, model, from, asked, script, looks }: Task): TaskView {
  const state: State = looks < script.polls ? (looks === 0 ? 'queued' : 'in_progress') : script.failed ? 'failed' : 'completed'
  return { id, state, model, from, asked }
}
