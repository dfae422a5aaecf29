// Bounds of what is kept, for the workers and for the control process: what one refuses, the other need not hold.

/** Turns of a conversation that a request continues. */
export const MOST_TURNS = 1_000

/** The text of all of them, and of one answer with what its request added: characters. */
export const MOST_TEXT = 24 * 1024 * 1024
