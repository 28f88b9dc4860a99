import { type LimitChanges, type LimitRaise, raised, type RunLimits, type SessionLimits } from '../domain/limits.ts';
import type { RunState } from '../kernel/run-state.ts';
import { isSession, limitsOf, type OpenSession } from '../sessions/open-session.ts';

// The limits of a run, including accepted raises that the loop applies before its next step.

/** Returns the limits of a run, or of a turn, with its accepted raises. */
export function acceptedLimits({ limits }: Pick<RunState, 'limits'>, raises: readonly LimitRaise[]): RunLimits {
  return raises.reduce((now, raise) => raised(now, raise.limits), limits);
}

/** Returns the limits of a whole session with its accepted raises. */
export function acceptedSessionLimits(state: Pick<OpenSession, 'slices'>, raises: readonly LimitRaise[]): Required<SessionLimits> {
  return raises.reduce((now, { session }) => ({ ...now, ...session }), limitsOf(state));
}

/** Returns why changes do not raise limits: one of them would be lower, or does not exist. Undefined if all are raised. */
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

/** Returns why changes do not raise a session's limits: one of them would be lower, or the run is not a session. */
export function loweredOfSession(state: RunState, changes: SessionLimits | undefined, raises: readonly LimitRaise[]): string | undefined {
  if (changes === undefined) return undefined;
  if (!isSession(state)) return 'the run is not a session: it has no session limits to raise';
  const limits = acceptedSessionLimits(state, raises);
  for (const [name, value] of Object.entries(changes) as [keyof typeof limits, number | null][]) {
    const now = limits[name];
    if (now === null && value !== null) return `the session has no limit "${name}" to raise`;
    if (now !== null && value !== null && value < now) return `limit "${name}" of the session is ${now}, and ${value} would lower it`;
  }
  return undefined;
}
