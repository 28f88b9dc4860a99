import { defined } from '../../src/core/domain/json.ts';
import type { ModelCallContext, RateLimits } from '../../src/core/domain/model.ts';

/** The headers with limits per minute, of OpenAI and similar servers, and of Anthropic. */
const HEADERS = {
  requestsPerMinute: ['x-ratelimit-limit-requests', 'anthropic-ratelimit-requests-limit'],
  tokensPerMinute: ['x-ratelimit-limit-tokens', 'anthropic-ratelimit-tokens-limit'],
} as const;

/** Reports the limits in an answer's headers to `report`, if given. Nothing in them is trusted. */
export function reportRateLimits(given: Headers | Record<string, string> | undefined, report: ModelCallContext['onRateLimits']): void {
  if (report === undefined || given === undefined) return;
  const headers = given instanceof Headers ? given : new Map(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  const read = (names: readonly string[]): number | undefined => {
    for (const name of names) {
      const value = Number(headers.get(name) ?? Number.NaN);
      if (Number.isFinite(value) && value >= 1) return value;
    }
    return undefined;
  };
  const limits: RateLimits = defined({
    requestsPerMinute: read(HEADERS.requestsPerMinute),
    tokensPerMinute: read(HEADERS.tokensPerMinute),
  });
  if (Object.keys(limits).length > 0) report(limits);
}
