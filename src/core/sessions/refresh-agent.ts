import { limitNumbers, nameOfTool } from '../domain/agent/limit-numbers.ts';
import type { LimitChanges, RunLimits } from '../domain/agent/limits.ts';
import { forgetCellsOfOtherCode } from '../loop/code/cells.ts';
import { raiseLimits } from '../loop/limits/limits.ts';
import { beginRecall, noteError, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/** The time without a turn after which the agent is resolved again, in milliseconds. */
const REFRESH_AFTER_MS = 3_600_000;

/** True if the agent is resolved again before the turn that begins: a caller has asked for it, or its definition may have changed since. */
export function isRefreshDue({ session, handoffs }: OpenSession, now: number): boolean {
  // Each agent of a run that was handed over is pinned with it.
  if (session.refresh === 'never' || (handoffs !== undefined && handoffs.count > 0)) return false;
  return session.refreshDue === true || now - (session.idleSince ?? now) >= REFRESH_AFTER_MS;
}

/** Resolves the agent again. If that fails, for instance because the deps do not fit any more, the agent stays as it was, and the record says so. */
export async function refreshAgent(state: OpenSession, ports: SessionPorts): Promise<void> {
  const { session, snapshot } = state;
  // A caller may ask once more meanwhile: the worker may have read the definition before that.
  delete session.refreshDue;
  const resolved = await ports.refreshAgent();
  if (resolved.type === 'cancelled') {
    session.refreshDue = true;
    return;
  }
  if (resolved.type === 'failed') {
    const { code, message } = resolved;
    noteError(state, `Agent "${snapshot.name}" stays as it was: ${message}`);
    recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { failed: { code, message } } });
    return;
  }
  const { notices } = resolved;
  const { digest } = resolved.snapshot;
  if (digest === snapshot.digest) return;
  state.snapshot = resolved.snapshot;
  forgetCellsOfOtherCode(state, snapshot.code);
  takeLimits(state, resolved.snapshot.limits);
  // The provider counted the tokens of another request.
  delete state.measured;
  beginRecall(state);
  ports.switchAgent(resolved.snapshot);
  recordEvent(state, ports, { author: snapshot.name, content: [], refresh: { digest }, ...(notices === undefined ? {} : { notices }) });
}

/** Gives the turn the limits of the new agent, those of the start of the session included. A limit that was raised for the turn stays as high. */
function takeLimits(state: OpenSession, limits: RunLimits): void {
  const { session } = state;
  const raises = raisesBetween(session.unraised ?? state.limits, state.limits, limits);
  state.limits = limits;
  delete session.unraised;
  raiseLimits(state, raises);
}

/** Returns the limits that were raised, as far as the new agent has them and they are not as high. */
function raisesBetween(before: RunLimits, after: RunLimits, next: RunLimits): LimitChanges {
  const [old, now] = [limitNumbers(before), limitNumbers(next)];
  const { toolCallsByName = {}, ...others } = after;
  const isRaise = ([name, value]: [string, number]): boolean => value !== old.get(name) && value > (now.get(name) ?? Infinity);
  const byTool = Object.entries(toolCallsByName).filter(([tool, value]) => isRaise([nameOfTool(tool), value]));
  const numbers = Object.entries(others).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return {
    ...Object.fromEntries(numbers.filter(isRaise)),
    ...(byTool.length === 0 ? {} : { toolCallsByName: Object.fromEntries(byTool) }),
  };
}
