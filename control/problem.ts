// What the admin API says of what cannot be done (RFC 9457).

export class Problem extends Error {
  constructor(
    readonly status: number,
    /** A word for programs. */
    readonly code: string,
    message: string,
    /** The field that is meant. */
    readonly field?: string,
  ) {
    super(message)
  }
}
