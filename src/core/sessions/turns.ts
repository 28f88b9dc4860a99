import type { TurnResultFields } from '../domain/sessions/session-state.ts';
import { noUsage } from '../domain/model/usage.ts';
import { closeRun } from '../loop/endings/close-run.ts';
import type { Ending } from '../loop/next-step.ts';
import type { RunPorts } from '../loop/ports.ts';
import { forgetActed } from '../loop/state/first-step.ts';
import { beginRecall, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import { withTurn } from './spent.ts';

/**
 * Begins a turn: the counts of the agent's limits start at zero, and the conversation continues. `number`: that of a later turn, if the
 * run which keeps the session has given up those before it.
 */
export function beginTurn(state: OpenSession, ports: Pick<RunPorts, 'now' | 'inbox'>, number = 0): void {
  const { session, context } = state;
  session.turns = Math.max(session.turns + 1, number);
  ports.inbox.leaveTo(session.turns);
  session.turn = { number: session.turns, stepsBefore: context.currentStep };
  delete session.opens;
  context.finalResult = null;
  state.status = 'running';
  state.startedAt = ports.now();
  state.usage = noUsage();
  state.toolCallsTotal = 0;
  state.toolCallsByName = new Map();
  delete state.toolCallsNotRun;
  state.toolCallsStarted = new Map();
  state.modelRetries = new Map();
  state.outputRetries = 0;
  state.thought = '';
  delete state.partial;
  delete state.lastStep;
  delete state.below;
  delete state.lastError;
  forgetActed(state);
  beginRecall(state);
}

/** Ends a turn, successful or not: the session is idle afterwards. Calls that wait for a decision are given up. */
export function endTurn(state: OpenSession, ports: RunPorts, ending: Ending): TurnResultFields {
  const { session } = state;
  const { number, stepsBefore } = session.turn ?? { number: session.turns, stepsBefore: state.context.currentStep };
  state.approvals.pending = [];
  delete state.children;
  delete state.endedChildren;
  const { steps: _, ...result } = closeRun(state, ports, ending);
  const { cancelReason } = ports.inbox.turnInterrupt ?? {};
  const unread = ports.inbox.leaveTo(number + 1);
  const unanswered = unread.length === 0 ? {} : { unanswered: unread };
  const turn: TurnResultFields = {
    ...result,
    ...(cancelReason === undefined ? {} : { cancelReason }),
    turn: number,
    firstStep: stepsBefore + 1,
    ...unanswered,
  };
  session.spent = withTurn(session.spent, result);
  // The next execution knows that text, and no result of a turn.
  if (result.output === state.thought) delete session.output;
  else session.output = result.output;
  delete session.turn;
  state.limits = session.unraised ?? state.limits;
  delete session.unraised;
  session.idleSince = ports.now();
  ports.inbox.endTurn();
  state.status = 'idle';
  const { status, stopReason, error } = ending;
  recordEvent(state, ports, {
    author: state.snapshot.name,
    content: [],
    turn: { number, status, stopReason, ...(error === undefined ? {} : { error: error.message }), ...unanswered },
  });
  state.turns = [...(state.turns ?? []), turn];
  return turn;
}
