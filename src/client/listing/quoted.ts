import { LonghaulError } from '../../core/domain/errors.ts';

/**
 * Escapes a value in quotes: values come from callers, and a quote in one must not end the text. Throws `invalid_input` for a value with a
 * NUL character, which ends the text for some databases of the server.
 */
export function quoted(value: string): string {
  if (value.includes('\0')) throw new LonghaulError('invalid_input', 'The list was not read: a filter has a NUL character. Leave it out');
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
