import { shownValue } from '../core/domain/text.ts';
import type { BurstPolicy } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { AgentPart } from './agent-part.ts';
import { requireKnown, wholeNumber } from './option-checks.ts';

/** The agent option for bursts. */
export interface AgentBursts {
  /**
   * Runs several quick steps in one activity: `true`, or bounds that differ from the defaults. Default: each call is a separate
   * activity.
   */
  burst?: true | Partial<BurstPolicy>;
}

/** The agent field that holds the bounds of its bursts. */
export interface BurstFields {
  /** Absent: it runs no bursts. */
  readonly burst?: BurstPolicy;
}

const DEFAULTS: BurstPolicy = { steps: 16, bytes: 32_000, seconds: 2 };

/** The largest value of each bound. The outcomes of a burst travel in one payload, together with the longest answer. */
const MOST: BurstPolicy = { steps: 1_000, bytes: 300_000, seconds: 600 };

/** Bursts as a part of an agent. */
export const burstPart: AgentPart<AgentBursts, BurstFields> = {
  options: {
    burst: ['`true` or `{ steps, bytes, seconds }`', 'none', 'quick steps run [in bursts](bursts.md), several in one activity'],
  },
  define: (owner, { burst }) => (burst === undefined ? {} : { burst: bounds(`${owner}: "burst`, burst) }),
};

/** `what` is the owner and the opened name of the option. */
function bounds(what: string, burst: unknown): BurstPolicy {
  if (burst === true) return DEFAULTS;
  if (typeof burst !== 'object' || burst === null || Array.isArray(burst))
    throw new UsageError(`${what}" is ${JSON.stringify(burst)}: write true or { steps: 16, bytes: 32000, seconds: 2 }, or leave it out`);
  requireKnown<Partial<BurstPolicy>>(`${what}"`, burst, { steps: true, bytes: true, seconds: true });
  const given = { ...DEFAULTS, ...burst };
  return {
    steps: bound(`${what}.steps"`, wholeNumber(`${what}.steps"`, given.steps, 1), MOST.steps),
    bytes: bound(`${what}.bytes"`, wholeNumber(`${what}.bytes"`, given.bytes, 1), MOST.bytes),
    seconds: bound(`${what}.seconds"`, secondsOf(`${what}.seconds"`, given.seconds), MOST.seconds),
  };
}

function secondsOf(what: string, seconds: unknown): number {
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new UsageError(`${what} is ${shownValue(seconds)}: write a number above 0`);
}

function bound(what: string, value: number, most: number): number {
  if (value <= most) return value;
  throw new UsageError(`${what} is ${value}: write at most ${most}`);
}
