import { limitValues } from '../domain/agent/limits.ts';
import type { RunResultFields } from '../domain/run/result.ts';
import { closeUnstarted } from '../loop/endings/close-run.ts';
import { endCancelled } from '../loop/endings/endings.ts';
import { firstAgent } from '../loop/handoffs/transfer-calls.ts';
import type { Ending, RunPosition } from '../loop/next-step.ts';
import type { SessionPorts } from './session-ports.ts';
import { takeMessages } from '../loop/requests/messages.ts';
import { type LoopEnd, BEGINNING, runTurn, type TurnEnd } from '../loop/run-loop.ts';
import { compactAfterTurns } from './compact-after-turns.ts';
import { readNextTurn } from './take-next-turn.ts';
import type { OpenSession } from './open-session.ts';
import { noteAnswer } from './name-session.ts';
import { isRefreshDue, refreshAgent } from './refresh-agent.ts';
import { spentBySession } from './spent.ts';
import { beginTurn, endTurn } from './turns.ts';
import { waitForMessage } from './wait-for-message.ts';

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
    const at = position;
    const end = await ports.inTurn(async () => {
      const ended = session.turn === undefined ? await openTurn(state, ports) : undefined;
      return ended ?? unlessInterrupted(state, ports, await runTurn(state, ports, at));
    });
    if (end.type === 'continue') {
      // The next execution may be on a worker of another build: the agent is resolved again before the next turn.
      session.refreshDue = true;
      return end;
    }
    await ports.endChildren(state);
    const { turn, status } = endTurn(state, ports, end.ending);
    ports.recorded?.(state);
    if (state.parent?.kept) await ports.turnEnded(state.parent.runId, turn);
    if (status === 'completed') noteAnswer(state);
    position = IDLE;
  }
}

/** Begins a turn with the messages that it answers. Returns its end if the message of the run that keeps the session cannot be read. */
async function openTurn(state: OpenSession, ports: SessionPorts): Promise<TurnEnd | undefined> {
  const refreshes = isRefreshDue(state, ports.now());
  const next = state.session.opens ? undefined : ports.inbox.takeNextTurn();
  const { queued } = ports.inbox;
  beginTurn(state, ports, next?.turn);
  const ending = next && (await readNextTurn(state, ports, next));
  if (ending !== undefined) return { type: 'finish', ending };
  if (refreshes) await refreshAgent(state, ports);
  await compactAfterTurns(state, ports);
  // However the turn ends, it has taken the messages that it began for: the next one does not begin for them again. Those that came after
  // an interrupt are left to it.
  takeMessages(state, ports, ports.cancelRequested() ? queued : undefined);
  return undefined;
}

/**
 * Returns the end of a turn, which is cancelled if a caller has interrupted it: its receipt says so, also if the answer arrived in the
 * same task. A call whose worker dies while it is cancelled fails.
 */
function unlessInterrupted(state: OpenSession, ports: SessionPorts, end: TurnEnd): TurnEnd {
  if (end.type === 'continue' || end.ending.status === 'cancelled') return end;
  const isInterrupted = ports.inbox.turnInterrupt !== undefined || (end.ending.status === 'error' && ports.cancelRequested());
  if (!isInterrupted) return end;
  state.context.finalResult = null;
  return endCancelled(state);
}

const IDLE: RunPosition = { type: 'idle' };

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
    limits: limitValues(state.limits),
    turns: session.turns,
  };
}
