/** The names of the modules in engine/ that are written as WebAssembly text. */
export function names(): string[]
/** The text of a module's -code.ts. */
export function printCode(name: string): Promise<string>
