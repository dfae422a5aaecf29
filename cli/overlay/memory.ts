// A compiled overlay if no folder is writable: its modules as data: URLs, with those that a module imports inside it.

/** The address of the plan's module. */
export function inMemory(files: ReadonlyMap<string, string>): string {
  let plan = files.get('plan.js') as string
  for (const [path, text] of files) {
    if (path === 'plan.js' || !path.endsWith('.js')) continue
    plan = plan.replaceAll(JSON.stringify(`./${path}`), () => JSON.stringify(addressOf(text)))
  }
  return addressOf(plan)
}

function addressOf(text: string): string {
  return `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
}
