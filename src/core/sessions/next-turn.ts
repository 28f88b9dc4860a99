import { narrowLimits } from '../domain/agent/narrow-limits.ts';
import { noteUnchecked } from '../loop/guardrails/unchecked.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import { recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';

/** True if there is a message to answer. A session that a run keeps answers that run alone: other messages wait for its next turn. */
export function isAsked({ parent }: OpenSession, inbox: Inbox): boolean {
  return parent?.kept ? inbox.nextTurn !== undefined : inbox.queued > 0;
}

/** Begins the turn with the message of the run that keeps the session, within the part of the limits that the message gives. */
export function takeNextTurn(state: OpenSession, ports: RunPorts): void {
  const next = ports.inbox.takeNextTurn();
  const { parent } = state;
  if (next === undefined || parent === undefined) return;
  const { content, left, runs, permissions } = next;
  if (left === undefined) delete parent.left;
  else parent.left = left;
  if (parent.tree !== undefined) parent.tree.runs = runs;
  state.limits = narrowLimits(state.snapshot.limits, left);
  if (permissions !== undefined) {
    parent.permissions = permissions;
    const [own = { mode: 'default' as const }] = state.snapshot.permissions ?? [];
    state.snapshot = { ...state.snapshot, permissions: [own, ...permissions] };
    ports.switchAgent(state.snapshot);
  }
  noteUnchecked(state, state.window.through);
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content }] });
}
