// Media types are compared without regard to case (RFC 9110, 8.3.1).

/** The media type in a content-type header, in lower case and without its parameters; '' if there is none. */
export function mediaTypeOf(header: string | undefined): string {
  // Nearly every header says just that.
  if (header === JSON_TYPE) return JSON_TYPE
  return header === undefined ? '' : (header.split(';', 1)[0] as string).trim().toLowerCase()
}

export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'multipart/form-data'

export const isMultipart = (header: string | undefined): boolean => mediaTypeOf(header).startsWith('multipart/')
