import { UsageError } from './error.ts';

/** A time span: milliseconds, or text such as `500ms`, `30s`, `5m`, `1.5h`, `2d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a duration. `owner` begins the UsageError that is thrown for anything else and for less than one millisecond. */
export function milliseconds(duration: Duration, owner: string): number {
  const amount = typeof duration === 'number' ? duration : parse(duration);
  if (Number.isFinite(amount) && amount >= 1) return Math.round(amount);
  throw new UsageError(`${owner} is ${JSON.stringify(duration)}: write milliseconds (at least 1), or a text such as "30s", "5m", "1h"`);
}

function parse(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Object.hasOwn(UNITS, unit) ? Number(number) * UNITS[unit as keyof typeof UNITS] : Number.NaN;
}
