import type { LimitChanges, RunLimits } from '../domain/limits.ts';
import { raised } from '../loop/limits/limits.ts';
import { abovePart } from '../loop/limits/part-of-parent.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { isSession } from '../sessions/open-session.ts';
import { limitsOf } from '../sessions/limit-reached.ts';
import type { RaiseInput, RaiseReceipt } from '../protocol.ts';
import { raiseProblem } from '../wire-schemas/request-schemas.ts';
import { invalidRequest, noRoomForRequest, type RequestKind, unavailable } from './message-receiver.ts';
import { isoTime } from '../domain/time.ts';

/** Raises limits of the run while it runs or waits. */
export const raise: RequestKind<RaiseInput, RaiseReceipt> = {
  description: 'Raises limits: {"id": "your own", "limits": {"steps": 20, "totalTokens": 100000, "costUsd": 2, ...}, "by"?}',
  refusal(run, input) {
    const problem = raiseProblem(input);
    if (problem !== undefined) return invalidRequest(run, 'raise', problem);
    const busy = unavailable(run, 'decisions');
    if (busy !== undefined) return busy;
    const { id, limits = {}, session } = input as RaiseInput;
    // This state is short: the first activity of the run resolves the agent.
    if (run.state === undefined)
      return { code: 'busy', message: `Run "${run.runId}" has not resolved its agent yet: send it again in a moment` };
    if (run.inbox.has(id)) return undefined;
    const lowered = loweredLimit(run.state.limits, limits) ?? loweredOfSession(run.state, session);
    if (lowered !== undefined) return invalidRequest(run, 'raise', lowered);
    const above = abovePart(run.state, limits);
    return above === undefined ? noRoomForRequest(input, run) : { code: 'budget_exceeded', message: `Run "${run.runId}": ${above}` };
  },
  take(run, { id, limits = {}, session, by }, { now }) {
    const isNew = run.inbox.raise({
      id,
      limits,
      ...(session === undefined ? {} : { session }),
      by: by ?? null,
      at: isoTime(now),
    });
    const known = run.state?.limits ?? { steps: 0, finalAttempt: false };
    return { version: 1, id, status: isNew ? 'raised' : 'duplicate', limits: isNew ? raised(known, limits) : known };
  },
};

/** Returns why the changes do not raise the limits of the session: one of them would be lower, or the run is none. */
function loweredOfSession(state: RunState, changes: RaiseInput['session']): string | undefined {
  if (changes === undefined) return undefined;
  if (!isSession(state)) return 'the run is no session: it has no limits of a session to raise';
  const limits = limitsOf(state);
  for (const [name, value] of Object.entries(changes) as [keyof typeof limits, number | null][]) {
    const now = limits[name];
    if (now === null && value !== null) return `the session has no limit "${name}" to raise`;
    if (now !== null && value !== null && value < now) return `limit "${name}" of the session is ${now}, and ${value} would lower it`;
  }
  return undefined;
}

/** Returns why the changes do not raise the limits: one of them would be lower, or does not exist. Undefined if all do. */
export function loweredLimit(limits: RunLimits, changes: LimitChanges): string | undefined {
  const { toolCallsByName = {}, ...rest } = changes;
  for (const [name, value] of Object.entries(rest)) {
    const now = limits[name as keyof typeof rest];
    if (now === undefined) return `the run has no limit "${name}" to raise`;
    if (value < now) return `limit "${name}" is ${now}, and ${value} would lower it`;
  }
  for (const [name, value] of Object.entries(toolCallsByName)) {
    const now = Object.hasOwn(limits.toolCallsByName ?? {}, name) ? limits.toolCallsByName?.[name] : undefined;
    if (now === undefined) return `the run has no limit "toolCallsByName.${name}" to raise`;
    if (value < now) return `limit "toolCallsByName.${name}" is ${now}, and ${value} would lower it`;
  }
  return undefined;
}
