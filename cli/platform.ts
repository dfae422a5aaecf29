// If the server library has no binary for this Node on this system, one sentence says so, with the remedy.

/** Loads a module that needs the server; if that fails, the process ends with exit code 3. */
export async function served<Module>(loading: Promise<Module>): Promise<Module> {
  try {
    return await loading
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!message.includes('uWS')) throw error
    console.error(reasonOf(message))
    process.exit(3)
  }
}

function reasonOf(message: string): string {
  const here = `Node ${process.versions.node} on ${process.platform} ${process.arch}`
  const wanted = /GLIBC_([\d.]+)' not found/.exec(message)?.[1]
  const { glibcVersionRuntime: libc } = (process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }).header
  const why =
    wanted !== undefined
      ? `it needs glibc ${wanted} or later, and there is ${libc ?? 'another one'} here`
      : process.platform === 'linux' && libc === undefined
        ? 'there is none for a libc that is not glibc'
        : 'there is none for these'
  return `Sluice cannot run with ${here}, because the binary of its server does not load: ${why}. Use Node 20, or a system that README names under "Runs where".`
}
