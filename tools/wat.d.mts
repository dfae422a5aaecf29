/** The text of the module that engine/outline.wat is compiled to. */
export function printCode(): Promise<string>
