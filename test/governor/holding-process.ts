import { redisGovernor } from '../../src/governor/governor.ts';
import type { ProviderLimits } from '../../src/governor/limits.ts';
import { ProviderPermits } from '../../src/governor/provider-permits.ts';
import { answerRequests, readSetting } from '../processes/program.ts';

/** The setting of a process that takes permits and keeps them. */
export interface HoldingSetting {
  url: string;
  prefix: string;
  limits: ProviderLimits;
  /** Permits that it takes. */
  calls: number;
}

const { url, prefix, limits, calls } = readSetting<HoldingSetting>();
const governor = redisGovernor({ url, prefix }).open({ log: () => undefined });
const nothing = (): void => undefined;
const permits = new ProviderPermits(limits, governor.ledger('held', limits), { granted: nothing, refused: nothing, held: nothing });
const { signal } = new AbortController();
const wait = { holdMs: 60_000, signal };
const granted = await Promise.all(
  Array.from({ length: calls }, (_, index) =>
    permits.acquire({ call: `c${index}`, tenant: 't', priority: 3, since: 0, isBack: false, tokens: 0 }, wait),
  ),
);
if (granted.some(({ type }) => type !== 'permit')) throw new Error('A call has found no permit');
answerRequests<never, { type: 'ready' }>({});
