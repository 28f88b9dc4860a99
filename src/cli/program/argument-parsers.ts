import { InvalidArgumentError } from 'commander';
import { IF_EXISTS, type IfExists } from '../../client/start/if-exists.ts';
import { type Duration, MAX_TIMER_MS, milliseconds } from '../../core/domain/run/duration.ts';
import { errorMessage } from '../../core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json/json.ts';

/** Options that are whole numbers. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Write a whole number of at least ${least}.`);
  };
}

/** Options that are a time: seconds, or a time with its unit, on the command line, milliseconds from here on. */
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

/** Options that are a time of more than nothing. */
export function someSeconds(text: string): number {
  const value = seconds(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('Write a number of seconds above 0.');
}

/** Options that are a time with its unit, as runs take it. */
export function duration(text: string): Duration {
  const value = text as Duration;
  try {
    milliseconds(value, '');
    return value;
  } catch {
    throw new InvalidArgumentError('Write a time with its unit, such as 30m, 2h or 1d.');
  }
}

/** Options that are an amount of money. */
export function amount(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new InvalidArgumentError('Write an amount above 0, such as 0.5.');
}

/** Options that are a name and a number for it, and may be given again for other names. */
export function countOf(text: string, before: Record<string, number> = {}): Record<string, number> {
  const [, name, number] = /^(.+)=(\d+)$/.exec(text) ?? [];
  if (name !== undefined && number !== undefined) return { ...before, [name]: wholeNumber(0)(number) };
  throw new InvalidArgumentError('Write a name and a whole number, such as refund=2.');
}

/** Options that may be given again: all of them, in their order. */
export function oneMore(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Options that are a port. */
export function port(text: string): number {
  const value = wholeNumber(1)(text);
  if (value <= 65_535) return value;
  throw new InvalidArgumentError('Write a port from 1 to 65535.');
}

/** Options that are any JSON value. */
export function jsonValue(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new InvalidArgumentError(`That is not JSON: ${errorMessage(error)}.`);
  }
}

/** Options that are a JSON object. */
export function jsonObject(text: string): JsonObject {
  const value = jsonValue(text);
  if (isJsonObject(value)) return value;
  throw new InvalidArgumentError('Write a JSON object, such as \'{"user": "ada"}\'.');
}

/** What happens when the run id of a start is taken. */
export function ifExists(text: string): IfExists {
  const choice = IF_EXISTS.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new InvalidArgumentError(`Allowed choices are ${IF_EXISTS.join(', ')}.`);
}
