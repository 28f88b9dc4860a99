import { digits, TEXTS } from './texts.ts';

// To make a format takes longer than to use it a hundred times: each is made once, when it is used first.
let times: Intl.DateTimeFormat | undefined;
let days: Intl.DateTimeFormat | undefined;
let wholes: Intl.DateTimeFormat | undefined;

/** Returns a time span as people read it: `< 1 ms`, `840 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`. */
export function span(ms: number): string {
  if (ms < 1) return '< 1 ms';
  // What would be rounded up to the next unit is written in it.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return '1 min';
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ] as const;
  const first = units.findIndex(([, length]) => ms >= length);
  return units
    .slice(first, first + 2)
    .map(([unit, length], index) => [Math.floor((index === 0 ? ms : ms % (units[first]?.[1] ?? 1)) / length), unit] as const)
    .filter(([amount], index) => index === 0 || amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

export function number(amount: number | undefined): string {
  return amount === undefined ? '' : digits(amount);
}

/** The least amount that is written with all of its digits, in US dollars. */
const LEAST = 0.000001;

/** Returns US dollars as `longhaul show` writes them: with two decimals if that is exact, and with more for single calls. What costs something is never $0. */
export function dollars(amount: number | undefined): string {
  if (amount === undefined) return '';
  if (amount > 0 && amount < LEAST / 2) return `< $${LEAST.toFixed(6)}`;
  if (Number(amount.toFixed(2)) === amount) return `$${amount.toFixed(2)}`;
  return `$${amount.toFixed(amount < 0.001 ? 6 : 4)}`;
}

/** Tokens and costs, as providers report them or as they were estimated. */
interface Usage {
  totalTokens: number;
  costUsd?: number;
}

/** Returns what was used, reported and estimated together. The cost is undefined if no price was known. */
export function spent(
  usage: (Usage & { estimated?: Usage }) | null | undefined,
  estimated = usage?.estimated,
): { tokens: number; cost: number | undefined } {
  const all = [usage, estimated].filter((one) => one !== undefined && one !== null);
  const costs = all.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [costUsd]));
  return {
    tokens: all.reduce((sum, { totalTokens }) => sum + totalTokens, 0),
    cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
  };
}

/** Returns a moment in the reader's own time, in seconds, without the day if it is today. What is no time is shown as it is: the page must not end with it. */
export function moment(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const isToday = date.toDateString() === new Date().toDateString();
  if (isToday) return (times ??= new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })).format(date);
  return (days ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })).format(date);
}

/** Returns a moment with its day and the time zone of the reader: two readers may compare what they see. */
export function wholeMoment(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return (wholes ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })).format(date);
}

/** Returns how long it is until then, or since then, in whole seconds. */
export function fromNow(iso: string, now: number = Date.now()): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1_000);
  const length = Math.abs(seconds) < 60 ? `${Math.abs(seconds)} s` : span(Math.abs(seconds) * 1_000);
  if (seconds === 0) return TEXTS.now;
  return seconds > 0 ? `in ${length}` : `${length} ago`;
}

/** The statuses of runs, by what they mean for a reader. */
const TONES: Readonly<Record<string, string>> = {
  running: 'active',
  idle: 'calm',
  paused: 'warn',
  pending_confirmation: 'ask',
  completed: 'good',
  max_iterations_reached: 'warn',
  limit_reached: 'warn',
  error: 'bad',
  cancelled: 'calm',
};

export function tone(status: string | undefined): string {
  return TONES[status ?? ''] ?? 'calm';
}

/** Returns a status in words. */
export function statusText(status: string | undefined): string {
  return status === undefined ? '?' : status === 'pending_confirmation' ? 'waiting' : status.replaceAll('_', ' ');
}

export const STATUSES = Object.keys(TONES);

export function costText(cost: number | undefined): string {
  return cost === undefined ? TEXTS.noCost : dollars(cost);
}
