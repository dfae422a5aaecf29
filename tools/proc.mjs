// Facts about processes, from the operating system. Linux only.

import { readdirSync, readFileSync } from 'node:fs'

/** @returns {string[] | undefined} the fields of /proc/PID/stat from the third on, as the second may hold blanks; undefined once it has ended */
export function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** @returns {number[]} the process and all that descend from it, each before its own children */
export function tree(pid) {
  const parents = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => [Number(name), Number(statOf(name)?.[1])])
  const found = [pid]
  for (let i = 0; i < found.length; i++) for (const [child, parent] of parents) if (parent === found[i]) found.push(child)
  return found
}

/** @returns {number[]} those below a process whose command holds a text */
export function below(pid, text) {
  return tree(pid).filter(one => one !== pid && commandOf(one).includes(text))
}

/** The words of its command, each followed by a blank; '' once it has ended. */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
