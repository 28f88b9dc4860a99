import type { SessionView, TurnQuestion, TurnView } from '../domain/sessions/session-views.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { isSession } from '../sessions/open-session.ts';
import { limitsOf, sessionLimitReached } from '../sessions/limit-reached.ts';
import { spentBySession } from '../sessions/spent.ts';
import type { QueriedRun } from './queried-run.ts';
import { isoTime } from '../domain/record/time.ts';

/** Returns the field of a view for a session. `now` is in milliseconds since the epoch. */
export function shownSession(state: RunState | undefined, now: number): { session?: SessionView } {
  if (state === undefined || !isSession(state)) return {};
  const { title, turns, turn, idleSince } = state.session;
  const limitReached = sessionLimitReached(state, now);
  return {
    session: {
      ...(title === undefined ? {} : { title }),
      turns,
      ...(turn === undefined ? {} : { turn: turn.number }),
      spent: spentBySession(state),
      limits: limitsOf(state),
      ...(limitReached === undefined ? {} : { limitReached }),
      ...(idleSince === undefined ? {} : { idleSince: isoTime(idleSince) }),
    },
  };
}

/** Answers the `turn` query: the result of a turn that has ended in this execution. */
export function turnView({ state }: QueriedRun, question: TurnQuestion | null | undefined): TurnView {
  const { turns = 0, turn } = state?.session ?? {};
  const ended = state?.turns ?? [];
  const asked = question?.turn ?? ended.at(-1)?.turn;
  const result = ended.find((one) => one.turn === asked);
  return {
    version: 1,
    turns,
    ...(turn === undefined ? {} : { running: turn.number }),
    firstTurn: ended[0]?.turn ?? turns + (turn === undefined ? 1 : 0),
    ...(result === undefined ? {} : { result }),
  };
}
