/** Milliseconds that one call to the server may take, with its retries, where the caller gives no deadline. */
const USUAL_MS = 30_000;

/** The server itself holds these for up to 20 s: whoever waits for a run asks again and again. */
const LONG_POLLS = ['/GetWorkflowExecutionHistory', '/UpdateWorkflowExecution', '/PollWorkflowExecutionUpdate'];
const LONG_POLL_MS = 60_000;

/** What of a call decides how long it may take. */
interface BoundedCall {
  method_definition: { path: string };
  deadline?: number | Date;
}

/** The call with a deadline: without one gRPC would wait for ever for a server that is behind a broken network. */
export function withCallTimeout<Call extends BoundedCall>(call: Call): Call {
  const isLongPoll = LONG_POLLS.some((method) => call.method_definition.path.endsWith(method));
  return { ...call, deadline: call.deadline ?? Date.now() + (isLongPoll ? LONG_POLL_MS : USUAL_MS) };
}
