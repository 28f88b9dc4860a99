/**
 * Returns the delay in milliseconds that a provider asks for: `retry-after-ms`, otherwise `retry-after` in seconds or
 * as a date. Returns undefined for none: a delay of zero would replace Temporal's own backoff.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  return (
    positive(headers?.get('retry-after-ms'), 1) ?? positive(headers?.get('retry-after'), 1000) ?? until(headers?.get('retry-after'), now)
  );
}

function positive(value: string | null | undefined, factor: number): number | undefined {
  const milliseconds = value === null || value === undefined || value.trim() === '' ? NaN : Math.ceil(Number(value) * factor);
  return Number.isSafeInteger(milliseconds) && milliseconds > 0 ? milliseconds : undefined;
}

function until(value: string | null | undefined, now: number): number | undefined {
  // `Date.parse` reads "5" or "-1" as a year or a month: only a value with the name of a weekday or a month is a date here.
  const wait = value !== null && value !== undefined && /[a-z]{3}/i.test(value) ? Date.parse(value) - now : NaN;
  return Number.isFinite(wait) && wait > 0 ? wait : undefined;
}
