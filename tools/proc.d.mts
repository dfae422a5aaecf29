/** The fields of /proc/PID/stat from the third on; undefined once the process has ended. */
export function statOf(pid: number | string): string[] | undefined
/** The process and all that descend from it, each before its own children. */
export function tree(pid: number): number[]
/** Those below a process whose command holds a text. */
export function below(pid: number, text: string): number[]
