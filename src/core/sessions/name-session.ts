import { cutText } from '../domain/content/cut-content.ts';
import { oneLine } from '../domain/content/text.ts';
import { addRunUsage, noUsage } from '../domain/model/usage.ts';
import { recordFailedCall, spend } from '../loop/state/spending.ts';
import { noteError, recordEvent } from '../loop/state/run-state.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/** Bytes that a title may have. */
const TITLE_BYTES = 120;

/**
 * Gives a session the title that its terms ask for, by one model call after its first answer. Its cost is that of the session, and of no
 * turn. If the call fails, the session stays without a title.
 */
export async function nameSession(state: OpenSession, ports: SessionPorts): Promise<void> {
  const { session, window, snapshot } = state;
  delete session.generateTitle;
  const { through, lastEventId } = window;
  const outcome = await ports.summarise({
    through,
    lastEventId,
    head: null,
    tail: null,
    events: window.events.length,
    maxBytes: TITLE_BYTES,
    purpose: 'title',
  });
  if (outcome.type === 'cancelled') return;
  const ofTurn = state.usage;
  state.usage = noUsage();
  const model = snapshot.window?.summaryModel ?? snapshot.model;
  if (outcome.type === 'failed') {
    noteError(state, `The session has no title: ${outcome.message}`);
    recordFailedCall(state, ports, model, outcome);
  } else {
    const { id, text, usage, failedAttempts } = outcome;
    const title = cutText(oneLine(text, TITLE_BYTES), TITLE_BYTES);
    const spending = spend(state, { model, usage, answer: text, failedAttempts });
    session.title = title;
    session.titled = true;
    recordEvent(state, ports, { id, author: snapshot.name, content: [], title, ...spending });
  }
  session.spent = { ...session.spent, usage: addRunUsage(session.spent.usage, state.usage) };
  state.usage = ofTurn;
}
