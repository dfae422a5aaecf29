// Errors of the admin API (RFC 9457).

export class Problem extends Error {
  constructor(
    readonly status: number,
    /** The error code for programs. */
    readonly code: string,
    message: string,
    /** The field at fault. */
    readonly field?: string,
  ) {
    super(message)
  }
}
