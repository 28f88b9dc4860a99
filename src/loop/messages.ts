import type { RunPorts } from './ports.ts';
import { recordEvent, type RunState } from './run-state.ts';

/** Takes the queued messages into the record, in the order in which they were accepted. True where there were any. */
export function takeMessages(state: RunState, ports: RunPorts): boolean {
  const messages = ports.takeMessages();
  for (const { content, timestamp } of messages) {
    recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content }], timestamp });
  }
  return messages.length > 0;
}
