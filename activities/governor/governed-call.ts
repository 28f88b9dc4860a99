import { activityInfo } from '@temporalio/activity';
import { type AgentSnapshot, estimatedRequestTokens } from '../../src/core/domain/agent.ts';
import { ModelCallError } from '../../src/core/domain/errors.ts';
import { NOT_SENT } from '../../src/core/domain/model.ts';
import type { OfRun } from '../../src/core/protocol.ts';
import type { Granted, GovernedRequest, Permit, ProviderPermits } from '../../src/governor/provider-permits.ts';
import { attemptInfo, mayPark, ParkedAttempt } from '../attempts/attempt-info.ts';
import type { AskedModel, ModelOrder } from '../model-calls/fallback.ts';
import type { Patience } from '../model-calls/patience.ts';
import { runIdOf } from '../run-queries/query-run.ts';
import { type ActivityRuntime, providerContext } from '../runtime.ts';
import { shareDigest, type WorkerGovernor } from './worker-governor.ts';

/** The priority of runs that were started without one. */
const ORDINARY = 3;

/** The parts of a model call's attempt that `enter` needs. */
interface Entry {
  signal: AbortSignal;
  patience: Patience;
}

/** A model call whose models may have limits. */
export class GovernedCall {
  readonly #governor: WorkerGovernor;
  readonly #run: OfRun;
  readonly #snapshot: Pick<AgentSnapshot, 'name' | 'tenantDigest'>;

  constructor(governor: WorkerGovernor, run: OfRun, snapshot: Pick<AgentSnapshot, 'name' | 'tenantDigest'>) {
    this.#governor = governor;
    this.#run = run;
    this.#snapshot = snapshot;
  }

  /**
   * Resolves with the permit for the next request: to the current model, or to the next one of a list whose wait is short enough.
   * Undefined: the model has no limits. Throws `ParkedAttempt` if the call must wait for long.
   */
  async enter(order: ModelOrder, { signal, patience }: Entry): Promise<Permit | undefined> {
    let least: Extract<Granted, { type: 'wait' }> | undefined;
    for (;;) {
      const permits = this.#governor.permitsOf(order.current.name);
      if (permits === undefined) return undefined;
      const request = this.#requestOf(permits, order.current, patience.call);
      const { maxWaitMs = Infinity } = order;
      // An attempt that has asked a model counts.
      const isParkable = mayPark() && !order.hasAsked;
      const granted = await permits.acquire(request, { ...waitOf(permits, { isParkable, maxWaitMs }), signal });
      if (granted.type === 'permit') return granted.permit;
      if (least === undefined || granted.waitMs < least.waitMs) least = granted;
      if (granted.waitMs > maxWaitMs && order.passOver()) continue;
      const { waitMs, awayMs } = least;
      const seconds = Math.ceil(waitMs / 1_000);
      const message = `${NOT_SENT}the limits of the provider of model "${order.current.name}" are used up for about ${seconds} s`;
      if (isParkable) {
        permits.park(request, awayMs);
        throw new ParkedAttempt(message, awayMs);
      }
      patience.parked(awayMs);
      throw new ModelCallError('model_rate_limited', message);
    }
  }

  #requestOf(permits: ProviderPermits, { request }: AskedModel, call: string): GovernedRequest {
    const { scheduledTimestampMs, attempt } = attemptInfo();
    return {
      call: shareDigest(call),
      tenant: this.#shareOf(permits.limits.share),
      priority: activityInfo().priority?.priorityKey ?? ORDINARY,
      since: scheduledTimestampMs,
      isBack: attempt > 1,
      tokens: permits.countsTokens ? estimatedRequestTokens(request) : 0,
    };
  }

  #shareOf(share: ProviderPermits['limits']['share']): string {
    const { name, tenantDigest } = this.#snapshot;
    if (share === 'agent') return shareDigest('agent', name);
    if (share === 'run') return shareDigest('run', runIdOf(this.#run));
    return tenantDigest ?? 'nobody';
  }
}

/** The context of a run's model call in addition to its models. */
interface CallContext extends ReturnType<typeof providerContext> {
  heartbeatMs: number;
  /** Present if the worker has limits. */
  governed?: GovernedCall;
}

/** Returns the context of a run's model call in addition to its models: the facts for its provider, its heartbeats, and its limits. */
export function callContext(runtime: ActivityRuntime, run: OfRun, snapshot: AgentSnapshot): CallContext {
  const { governor } = runtime;
  const context = { ...providerContext(runtime, snapshot), heartbeatMs: snapshot.timing.heartbeatMs };
  return governor === undefined ? context : { ...context, governed: new GovernedCall(governor, run, snapshot) };
}

/** Returns the bounds of the time for which a waiting call may keep its worker slot. */
function waitOf({ limits }: ProviderPermits, { isParkable, maxWaitMs }: { isParkable: boolean; maxWaitMs: number }) {
  const longestMs = attemptInfo().startToCloseTimeoutMs / 2;
  if (!isParkable) return { holdMs: Math.min(maxWaitMs, longestMs) };
  const holdMs = Math.min(limits.holdSlotMs, longestMs);
  // A call that would rather ask the next model of its list leaves in time.
  if (maxWaitMs < 2 * holdMs) return { holdMs: Math.min(holdMs, maxWaitMs) };
  return { holdMs, backMs: holdMs / 2, nextHoldMs: maxWaitMs === Infinity ? longestMs : holdMs };
}
