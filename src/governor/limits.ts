import { UsageError } from '../core/domain/errors.ts';
import { didYouMean } from '../core/domain/text.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type OptionTable, requireKnown, wholeNumber } from '../define/option-checks.ts';

/** The limits of one provider of a worker. All workers that share its key need the same limits. */
export interface ProviderLimitOptions {
  /** Requests per minute, over all workers. Default: no limit. */
  requestsPerMinute?: number;
  /** Tokens per minute, of requests and answers, over all workers. Default: no limit. */
  tokensPerMinute?: number;
  /** Concurrent requests, over all workers. Default: no limit. */
  concurrency?: number;
  /** Whether the headers of answers and refusals (429) lower the limits. Default true. */
  learn?: boolean;
  /** What gets equal shares while calls wait. Default `tenant`: the principal's tenant, or else its user. */
  share?: 'tenant' | 'agent' | 'run';
  /** A call that would wait longer releases its worker slot meanwhile. Default 5 seconds. */
  holdSlotFor?: Duration;
}

const OPTIONS: OptionTable<ProviderLimitOptions> = {
  requestsPerMinute: true,
  tokensPerMinute: true,
  concurrency: true,
  learn: true,
  share: true,
  holdSlotFor: true,
};

const SHARES = ['tenant', 'agent', 'run'] as const;

/** The value of an unset limit: a number, because JSON has no infinity. */
export const NO_LIMIT = 1e12;

/** Checked limits: unset ones are `NO_LIMIT`. */
export interface ProviderLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  concurrency: number;
  learn: boolean;
  share: (typeof SHARES)[number];
  holdSlotMs: number;
}

/** Returns the limits of a worker's providers. Throws a UsageError for an unknown provider, and for an invalid limit. */
export function checkLimits(
  given: Readonly<Record<string, ProviderLimitOptions>>,
  providers: readonly string[],
): ReadonlyMap<string, ProviderLimits> {
  if (typeof given !== 'object' || given === null) {
    throw new UsageError(`the worker: "limits" is ${JSON.stringify(given)}: write { openai: { requestsPerMinute: 500 } }`);
  }
  return new Map(Object.entries(given).map(([provider, options]) => [provider, checkedLimits(provider, options, providers)]));
}

function checkedLimits(provider: string, options: ProviderLimitOptions, providers: readonly string[]): ProviderLimits {
  const owner = `the worker: "limits" of "${provider}"`;
  if (!providers.includes(provider)) {
    const known = providers.map((one) => `"${one}"`).join(', ') || 'none';
    throw new UsageError(
      `${owner}: the worker has no provider "${provider}" (it has: ${known})${didYouMean(provider, providers)}: name one of "providers"`,
    );
  }
  if (typeof options !== 'object' || options === null) {
    throw new UsageError(`${owner} are ${JSON.stringify(options)}: write { requestsPerMinute, tokensPerMinute, concurrency }`);
  }
  requireKnown(owner, options, OPTIONS);
  const { learn = true, share = 'tenant', holdSlotFor = '5s' } = options;
  if (typeof learn !== 'boolean') throw new UsageError(`${owner}: "learn" is ${JSON.stringify(learn)}: write true or false`);
  if (!SHARES.includes(share)) {
    throw new UsageError(`${owner}: "share" is ${JSON.stringify(share)}: write "tenant", "agent" or "run"${didYouMean(share, SHARES)}`);
  }
  const amount = (name: 'requestsPerMinute' | 'tokensPerMinute' | 'concurrency'): number =>
    options[name] === undefined ? NO_LIMIT : wholeNumber(`${owner}: "${name}"`, options[name], 1);
  const limits = {
    requestsPerMinute: amount('requestsPerMinute'),
    tokensPerMinute: amount('tokensPerMinute'),
    concurrency: amount('concurrency'),
  };
  if (Object.values(limits).every((one) => one === NO_LIMIT)) {
    throw new UsageError(`${owner} limit nothing: set "requestsPerMinute", "tokensPerMinute" or "concurrency"`);
  }
  return { ...limits, learn, share, holdSlotMs: timerMilliseconds(holdSlotFor, `${owner}: "holdSlotFor"`, { least: 0 }) };
}
