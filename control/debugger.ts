// Others open new log files at SIGUSR1; Node would open a debugger, with which every user of the machine reads the secrets.

/** Leaves the signal without an effect on this process. */
export function ignoreDebugger(): void {
  process.on('SIGUSR1', () => undefined)
}
