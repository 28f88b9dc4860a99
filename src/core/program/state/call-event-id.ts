// Programs: the ids of events of calls.

/**
 * Returns the id of the event of a call in an execution of a workflow. A call has one event, and a reset begins another execution,
 * whose calls are others. No slash is in it: one ends the id in the keys of calls.
 */
export function callEventId(executionId: string, callId: string): string {
  return `${executionId}:${callId.replaceAll('%', '%25').replaceAll('/', '%2F')}`;
}
