import { InvalidArgumentError } from 'commander';
import { IF_EXISTS, type IfExists } from '../../client/client-options.ts';
import { type Duration, MAX_TIMER_MS, milliseconds } from '../../core/domain/time.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';

/** Parses an option that is a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Write a whole number of at least ${least}.`);
  };
}

/** Parses an option that is a time: seconds, or a number with its unit. Returns milliseconds. */
export function seconds(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1000) : withUnit(text);
  if (value <= MAX_TIMER_MS) return value;
  throw new InvalidArgumentError('Write a number of seconds, or a time with its unit, such as 5m.');
}

function withUnit(text: string): number {
  try {
    return milliseconds(text as Duration, '');
  } catch {
    return Number.NaN;
  }
}

/** Parses an option that is a time of more than zero. */
export function someSeconds(text: string): number {
  const value = seconds(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('Write a number of seconds above 0.');
}

/** Parses an option that is a time with its unit, in the form that runs take. */
export function duration(text: string): Duration {
  const value = text as Duration;
  try {
    milliseconds(value, '');
    return value;
  } catch {
    throw new InvalidArgumentError('Write a time with its unit, such as 30m, 2h or 1d.');
  }
}

/** Parses an option that is an amount of money. */
export function amount(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new InvalidArgumentError('Write an amount above 0, such as 0.5.');
}

/** Parses an option that may also be `none`. The word is kept: Commander replaces `null`. */
export function orNone<Value>(parse: (text: string) => Value): (text: string) => Value | 'none' {
  return (text) => (text === 'none' ? text : parse(text));
}

/** Parses an option that is a name with a number, and may be repeated for other names. */
export function countOf(text: string, before: Record<string, number> = {}): Record<string, number> {
  const [, name, number] = /^(.+)=(\d+)$/.exec(text) ?? [];
  if (name !== undefined && number !== undefined) return { ...before, [name]: wholeNumber(0)(number) };
  throw new InvalidArgumentError('Write a name and a whole number, such as refund=2.');
}

/** Parses an option that may be repeated: all values, in order. */
export function oneMore(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Parses an option that is a port. */
export function port(text: string): number {
  const value = wholeNumber(1)(text);
  if (value <= 65_535) return value;
  throw new InvalidArgumentError('Write a port from 1 to 65535.');
}

/** Parses an option that is any JSON value. */
export function jsonValue(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new InvalidArgumentError(`That is not JSON: ${errorMessage(error)}.`);
  }
}

/** Parses an option that is a JSON object. */
export function jsonObject(text: string): JsonObject {
  const value = jsonValue(text);
  if (isJsonObject(value)) return value;
  throw new InvalidArgumentError('Write a JSON object, such as \'{"user": "ada"}\'.');
}

/** Parses the action if the run id of a start is taken. */
export function ifExists(text: string): IfExists {
  const choice = IF_EXISTS.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new InvalidArgumentError(`Allowed choices are ${IF_EXISTS.join(', ')}.`);
}
