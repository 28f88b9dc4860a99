import { narrowLimits } from '../domain/agent/narrow-limits.ts';
import type { NextTurnInput } from '../domain/children/kept-agent.ts';
import type { MessageContent } from '../domain/sessions/message-content.ts';
import { noteUnchecked } from '../loop/guardrails/unchecked.ts';
import type { Ending } from '../loop/next-step.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import { noteError, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/** True if there is a message to answer. A session that a run keeps answers that run alone: other messages wait for its next turn. */
export function hasMessage({ parent }: OpenSession, inbox: Inbox): boolean {
  return parent?.kept ? inbox.nextTurn !== undefined : inbox.queued > 0;
}

/**
 * Records the message of the run that keeps the session, whose turn has the part of the limits that the message gives. Returns the
 * ending of the turn if the message cannot be read.
 */
export async function readNextTurn(state: OpenSession, ports: SessionPorts, next: NextTurnInput): Promise<Ending | undefined> {
  applyLimits(state, ports, next);
  // Awaited only on demand: in the sandbox every promise costs a stack trace.
  const message: MessageContent =
    next.content === undefined ? await readMessage(state, ports, next) : { type: 'read', content: next.content };
  if (message.type === 'cancelled') return { status: 'cancelled', stopReason: 'cancelled', output: '' };
  if (message.type === 'failed') {
    const { code, message: problem } = message;
    noteError(state, problem);
    return { status: 'error', stopReason: 'error', output: '', error: { code, message: problem } };
  }
  noteUnchecked(state, state.window.through);
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content: message.content }] });
  return undefined;
}

/** Gives the turn its part of the limits, and the policies of the run that keeps the session. */
function applyLimits(state: OpenSession, ports: SessionPorts, { left, runs, permissions }: NextTurnInput): void {
  const { parent } = state;
  if (parent === undefined) return;
  if (left === undefined) delete parent.left;
  else parent.left = left;
  if (parent.tree !== undefined) parent.tree = { ...parent.tree, runs };
  state.limits = narrowLimits(state.snapshot.limits, left);
  delete state.session.unraised;
  if (permissions === undefined) return;
  parent.permissions = permissions;
  const [own = { mode: 'default' as const }] = state.snapshot.permissions ?? [];
  state.snapshot = { ...state.snapshot, permissions: [own, ...permissions] };
  ports.switchAgent(state.snapshot);
}

function readMessage({ parent, runId }: OpenSession, ports: SessionPorts, { of }: NextTurnInput): Promise<MessageContent> {
  if (of !== undefined && parent !== undefined) return ports.readMessage({ runId: parent.runId, ...of });
  return Promise.resolve({ type: 'failed', code: 'internal', message: `The message to session "${runId}" has no content` });
}
