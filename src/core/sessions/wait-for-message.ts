import { forgetLargeJournal } from '../loop/code/cells.ts';
import { fitsContinueAsNew } from '../loop/compaction/window-limit.ts';
import { takeRequests } from '../loop/requests/messages.ts';
import { clearConversation } from './clear-conversation.ts';
import { beginTitle, giveUpTitle, recordTitle } from './name-session.ts';
import { hasMessage } from './take-next-turn.ts';
import type { OpenSession } from './open-session.ts';
import type { SessionPorts } from './session-ports.ts';

/** The end of the wait. `ended`: the session is closed or cancelled. `continue`: it continues as new, and waits there. */
export type Woken = 'message' | 'ended' | 'continue';

/** Waits without a timer until there is a message to answer. */
export async function waitForMessage(state: OpenSession, ports: SessionPorts): Promise<Woken> {
  const { session } = state;
  const { inbox } = ports;
  let title: ReturnType<typeof beginTitle>;
  for (;;) {
    const { received } = inbox;
    if (session.resetDue && !ports.cancelRequested()) await clearConversation(state, ports);
    const woken = wokenBy(state, ports);
    if (woken !== undefined) {
      // Also if its answer arrived in the same task: a message comes before it.
      if (title !== undefined) giveUpTitle(state, ports, title);
      return woken;
    }
    takeRequests(state, ports);
    if (state.status !== 'idle') {
      state.status = 'idle';
      ports.recorded?.(state);
    }
    if (title?.outcome !== undefined) {
      recordTitle(state, ports, title.outcome);
      title = undefined;
      ports.recorded?.(state);
    }
    if (continuesBeforeSleep(state, ports)) {
      if (title !== undefined) giveUpTitle(state, ports, title);
      return 'continue';
    }
    title ??= beginTitle(state, ports);
    await ports.until(() => wokenBy(state, ports) !== undefined || inbox.received > received || title?.outcome !== undefined);
  }
}

function wokenBy(state: OpenSession, ports: SessionPorts): Woken | undefined {
  if (ports.cancelRequested()) return 'ended';
  if (hasMessage(state, ports.inbox)) return 'message';
  return ports.inbox.closing === undefined ? undefined : 'ended';
}

/** True if the session continues as new before it waits. A state that is too large to be carried stays: the next turn compacts it. */
function continuesBeforeSleep(state: OpenSession, ports: SessionPorts): boolean {
  if (!ports.continueBeforeSleep()) return false;
  forgetLargeJournal(state);
  return fitsContinueAsNew(state);
}
