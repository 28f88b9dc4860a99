import type { LimitChanges, RunLimits } from '../domain/agent/limits.ts';
import { raised } from '../loop/limits/limits.ts';
import type { RaiseInput, RaiseReceipt } from '../protocol.ts';
import { raiseProblem } from '../wire-schemas/request-schema.ts';
import { misshapen, noRoomFor, type RequestKind, unavailable } from './message-receiver.ts';

/** Raises limits of the run, while it goes on or waits. */
export const raise: RequestKind<RaiseInput, RaiseReceipt> = {
  description: 'Raises limits: {"id": "your own", "limits": {"maxIterations": 20, "totalTokens": 100000, "costUsd": 2, ...}, "by"?}',
  refusal(run, input) {
    const problem = raiseProblem(input);
    if (problem !== undefined) return misshapen(run, 'raise', problem);
    const busy = unavailable(run, 'decisions');
    if (busy !== undefined) return busy;
    const { id, limits } = input as RaiseInput;
    // It passes: the agent is resolved by the first activity of the run.
    if (run.state === undefined)
      return { code: 'busy', message: `Run "${run.runId}" has not resolved its agent yet: send it again in a moment` };
    if (run.inbox.has(id)) return undefined;
    const lowered = loweredLimit(run.state.limits, limits);
    return lowered === undefined ? noRoomFor(input, run) : misshapen(run, 'raise', lowered);
  },
  take(run, { id, limits, by }, { now }) {
    const isNew = run.inbox.raise({ id, limits, by: by ?? null, at: new Date(now).toISOString() });
    const known = run.state?.limits ?? { maxIterations: 0, finalAttempt: false };
    return { version: 1, id, status: isNew ? 'raised' : 'duplicate', limits: isNew ? raised(known, limits) : known };
  },
};

/** Why the changes do not raise the limits: one of them would be lower, or was not there. */
export function loweredLimit(limits: RunLimits, changes: LimitChanges): string | undefined {
  const { toolCallsByName = {}, ...rest } = changes;
  for (const [name, value] of Object.entries(rest)) {
    const now = limits[name as keyof typeof rest];
    const shown = name === 'maxIterations' ? 'steps' : name;
    if (now === undefined) return `the run has no limit "${shown}" to raise`;
    if (value < now) return `limit "${shown}" is ${now}, and ${value} would lower it`;
  }
  for (const [name, value] of Object.entries(toolCallsByName)) {
    const now = Object.hasOwn(limits.toolCallsByName ?? {}, name) ? limits.toolCallsByName?.[name] : undefined;
    if (now === undefined) return `the run has no limit "toolCallsByName.${name}" to raise`;
    if (value < now) return `limit "toolCallsByName.${name}" is ${now}, and ${value} would lower it`;
  }
  return undefined;
}
