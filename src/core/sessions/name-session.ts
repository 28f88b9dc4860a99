import { cutText } from '../domain/content/cut-content.ts';
import { oneLine } from '../domain/content/text.ts';
import { addRunUsage, noUsage } from '../domain/model/usage.ts';
import type { SummaryOutcome } from '../loop/ports.ts';
import { recordFailedCall, spend } from '../loop/state/spending.ts';
import { noteError, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { Beside, SessionPorts } from './session-ports.ts';

/** Bytes that a title may have. */
const TITLE_BYTES = 120;

/** The number of calls that are begun for a title: a message that arrives meanwhile ends a call. */
const MOST_CALLS = 3;

/** Asks for a title before the next message, if the session is to generate one and a turn has given an answer. */
export function noteAnswer({ session }: OpenSession): void {
  if (session.generateTitle) session.titleDue = true;
}

/**
 * Begins the model call that gives a session its title, beside the wait for the next message. Its cost is that of the session, and of
 * no turn.
 */
export function beginTitle(state: OpenSession, ports: SessionPorts): Beside<SummaryOutcome> | undefined {
  const { session, window } = state;
  if (!session.titleDue) return undefined;
  delete session.titleDue;
  session.titleCalls = (session.titleCalls ?? 0) + 1;
  if (session.titleCalls >= MOST_CALLS) delete session.generateTitle;
  const { through, lastEventId, events } = window;
  const request = { through, lastEventId, head: null, tail: null, events: events.length, maxBytes: TITLE_BYTES, purpose: 'title' } as const;
  return ports.beside(() => ports.summarise(request));
}

/** Gives the session the title that the call has made. If the call failed, the session stays without a title. */
export function recordTitle(state: OpenSession, ports: SessionPorts, outcome: SummaryOutcome): void {
  if (outcome.type === 'cancelled') return;
  const { session, snapshot } = state;
  delete session.generateTitle;
  besideTurns(state, (model) => {
    if (outcome.type === 'failed') {
      noteError(state, `The session has no title: ${outcome.message}`);
      recordFailedCall(state, ports, model, outcome);
      return;
    }
    const { id, text, usage, failedAttempts } = outcome;
    const title = cutText(oneLine(text, TITLE_BYTES), TITLE_BYTES);
    const spending = spend(state, { model, usage, answer: text, failedAttempts });
    session.title = title;
    session.titled = true;
    recordEvent(state, ports, { id, author: snapshot.name, content: [], title, ...spending });
  });
}

/** Gives up the call, because nothing may wait for a title. Its cost is estimated. The next answer begins another call. */
export function giveUpTitle(state: OpenSession, ports: SessionPorts, call: Beside<SummaryOutcome>): void {
  call.giveUp();
  besideTurns(state, (model) => {
    const spending = spend(state, { model, usage: null, answer: '' });
    recordEvent(state, ports, { author: state.snapshot.name, content: [], ...spending, interrupted: true });
  });
}

/** Records a call of the model that gives titles, whose cost is that of the session, and of no turn. */
function besideTurns(state: OpenSession, record: (model: string) => void): void {
  const { session, snapshot } = state;
  const ofTurn = state.usage;
  state.usage = noUsage();
  record(snapshot.window?.summaryModel ?? snapshot.model);
  session.spent = { ...session.spent, usage: addRunUsage(session.spent.usage, state.usage) };
  state.usage = ofTurn;
}
