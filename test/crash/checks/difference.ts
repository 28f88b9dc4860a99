import { diff } from 'node:util';

/** The number of lines of a difference that are printed. */
const SHOWN = 40;

/** The lines where two values differ as JSON: `-` is missing, `+` is additional. Undefined for equal values. */
export function difference(expected: unknown, actual: unknown): string | undefined {
  const [wanted, given] = [linesOf(expected), linesOf(actual)];
  if (wanted.join('\n') === given.join('\n')) return undefined;
  const changes = diff(wanted, given).flatMap(([change, line]) => (change === 0 ? [] : [`${change > 0 ? '-' : '+'} ${line}`]));
  const more = changes.length > SHOWN ? [`… and ${changes.length - SHOWN} more lines`] : [];
  return [...changes.slice(0, SHOWN), ...more].join('\n');
}

function linesOf(value: unknown): string[] {
  return JSON.stringify(value, null, 1).split('\n');
}
