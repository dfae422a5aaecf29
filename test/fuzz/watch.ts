// Loaded into the gateway before it starts: it reports long turns of the event loop. A process that waits for a busy machine
// does not work, so a turn is measured in processor time.

const LOOK = 20
const LONGEST = 200

let last = performance.now()
let used = process.cpuUsage()
setInterval(() => {
  const now = performance.now()
  const spent = process.cpuUsage(used)
  const stall = Math.min(now - last - LOOK, (spent.user + spent.system) / 1000)
  // What is loaded at the start is no stall of anybody.
  if (stall > LONGEST && process.uptime() > 5) process.stderr.write(`the event loop stood still for ${Math.round(stall)} ms\n`)
  last = now
  used = process.cpuUsage()
}, LOOK).unref()
