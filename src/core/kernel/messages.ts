import { raiseLimits } from './limits.ts';
import { points } from './points.ts';
import type { RunPorts } from './ports.ts';
import { noteError, recordEvent, type RunState } from './run-state.ts';

// Shared state: takes messages and requests from the inbox into the record.

/** Records the queued messages, or the first `count` of them, in the order of acceptance. Returns true if there were any. */
export function takeMessages(state: RunState, ports: RunPorts, count?: number): boolean {
  takeRequests(state, ports);
  const messages = ports.inbox.take(count);
  if (messages.length > 0) points.messagesTaken(state);
  for (const { content, timestamp } of messages) {
    recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content }], timestamp });
  }
  return messages.length > 0;
}

/** Applies and records raised limits, and records refused requests whose senders received no answer. */
export function takeRequests(state: RunState, ports: RunPorts): void {
  for (const raise of ports.inbox.takeRaises()) {
    raiseLimits(state, raise.limits);
    points.raiseTaken(state, raise);
    recordEvent(state, ports, { author: raise.by ?? 'user', content: [], raised: raise });
  }
  for (const one of ports.inbox.takeRefused()) {
    noteError(state, one.message);
    recordEvent(state, ports, { author: one.by ?? 'user', content: [], refused: one });
  }
}
