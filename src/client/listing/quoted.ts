/** Escapes a value in quotes: values come from callers, and a quote in one must not end the text. */
export function quoted(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
