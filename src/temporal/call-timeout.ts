import { patienceMs } from './patience.ts';

/**
 * The time limit of one call to the server, with its retries, in milliseconds. It applies if the caller sets no
 * deadline.
 */
const USUAL_MS = 30_000;

/**
 * Methods that the server itself holds open for up to 20 s; clients call them again and again while they wait for a
 * run.
 */
const LONG_POLLS = ['/GetWorkflowExecutionHistory', '/UpdateWorkflowExecution', '/PollWorkflowExecutionUpdate'];
const LONG_POLL_MS = 60_000;

/** The parts of a call that decide its time limit. */
interface BoundedCall {
  method_definition: { path: string };
  deadline?: number | Date;
}

/** Returns the call with a deadline: without one, gRPC would wait indefinitely for a server behind a broken network. */
export function withCallTimeout<Call extends BoundedCall>(call: Call): Call {
  const isLongPoll = LONG_POLLS.some((method) => call.method_definition.path.endsWith(method));
  return { ...call, deadline: call.deadline ?? Date.now() + (isLongPoll ? LONG_POLL_MS : (patienceMs() ?? USUAL_MS)) };
}
