import type { RunResultFields } from '../domain/run/result.ts';
import { closeUnstarted } from '../loop/endings/close-run.ts';
import { endCancelled } from '../loop/endings/endings.ts';
import { firstAgent } from '../loop/handoffs/transfer-calls.ts';
import type { Ending, RunPosition } from '../loop/next-step.ts';
import type { SessionPorts } from './session-ports.ts';
import { takeMessages, takeRequests } from '../loop/requests/messages.ts';
import { type LoopEnd, BEGINNING, runTurn, type TurnEnd } from '../loop/run-loop.ts';
import { clearConversation } from './clear-conversation.ts';
import { compactAfterTurns } from './compact-after-turns.ts';
import { isAsked, takeNextTurn } from './next-turn.ts';
import type { OpenSession } from './open-session.ts';
import { nameSession } from './name-session.ts';
import { isRefreshDue, refreshAgent } from './refresh-agent.ts';
import { spentBySession } from './spent.ts';
import { beginTurn, endTurn } from './turns.ts';

/**
 * Runs a session: a turn for the messages that have arrived, then a wait without a timer for the next. An error, a limit or a
 * guardrail ends the turn and not the session, and so does an interrupt. Pure, like the loop of a run.
 */
export async function runSession(state: OpenSession, ports: SessionPorts, from: RunPosition): Promise<LoopEnd> {
  const { session } = state;
  let position = session.turn === undefined && !session.opens ? IDLE : from;
  for (;;) {
    if (position.type === 'idle') {
      const woken = await waitForMessage(state, ports);
      if (woken === 'continue') {
        session.refreshDue = true;
        return { type: 'continue', position };
      }
      if (woken === 'ended') return { type: 'finished', result: closeSession(state, ports) };
      position = BEGINNING;
    }
    const isNew = session.turn === undefined;
    const refreshes = isNew && isRefreshDue(state, ports.now());
    if (isNew) beginTurn(state, ports);
    const at = position;
    const end = await ports.inTurn(async () => {
      const unread = isNew ? await takeNextTurn(state, ports) : undefined;
      if (unread !== undefined) return { type: 'finish' as const, ending: unread };
      if (isNew && refreshes) await refreshAgent(state, ports);
      if (isNew) await compactAfterTurns(state, ports);
      return unlessCancelled(state, ports, await runTurn(state, ports, at));
    });
    if (end.type === 'continue') return end;
    await ports.endChildren(state);
    const { turn } = endTurn(state, ports, end.ending);
    ports.recorded?.(state);
    if (state.parent?.kept) await ports.turnEnded(state.parent.runId, turn);
    if (session.generateTitle && end.ending.status === 'completed') {
      await nameSession(state, ports);
      ports.recorded?.(state);
    }
    position = IDLE;
  }
}

/** Returns the end of a turn, which was cancelled if a caller has asked for it: a call whose worker dies at that moment fails, and is not cancelled. */
function unlessCancelled(state: OpenSession, ports: SessionPorts, end: TurnEnd): TurnEnd {
  return end.type === 'finish' && end.ending.status === 'error' && ports.cancelRequested() ? endCancelled(state) : end;
}

const IDLE: RunPosition = { type: 'idle' };

/** Waits until there is a message to answer. `ended`: the session is closed or cancelled. `continue`: it goes on waiting in the next execution. */
async function waitForMessage(state: OpenSession, ports: SessionPorts): Promise<'message' | 'ended' | 'continue'> {
  const { session } = state;
  const { inbox } = ports;
  for (;;) {
    const { received } = inbox;
    if (ports.cancelRequested()) return 'ended';
    if (session.resetDue) await clearConversation(state, ports);
    if (isAsked(state, inbox)) return 'message';
    if (inbox.closing !== undefined) return 'ended';
    takeRequests(state, ports);
    if (state.status !== 'idle') {
      state.status = 'idle';
      ports.recorded?.(state);
    }
    if (ports.continueBeforeSleep()) return 'continue';
    await ports.until(() => isAsked(state, inbox) || inbox.closing !== undefined || inbox.received > received);
  }
}

/** Closes a session: its output is the answer of its last turn, and its amounts are those of all turns. */
function closeSession(state: OpenSession, ports: SessionPorts): RunResultFields {
  takeMessages(state, ports);
  const { session, runId } = state;
  const output = session.output === undefined ? state.thought : session.output;
  const ending: Ending = ports.cancelRequested()
    ? { status: 'cancelled', stopReason: 'cancelled', output }
    : { status: 'completed', stopReason: 'closed', output };
  state.status = ending.status;
  return {
    ...closeUnstarted({ runId, agentName: firstAgent(state), startedAt: session.startedAt }, ports, ending),
    steps: state.steps,
    ...spentBySession(state),
    maxIterations: state.limits.maxIterations,
    turns: session.turns,
  };
}
