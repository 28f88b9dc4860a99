/**
 * The byte budgets of a run, in bytes of JSON in UTF-8, before any codec.
 *
 * All that a run carries into its next execution travels in one payload of `MAX_PAYLOAD_BYTES` (1.9 MB). So the parts that
 * are never dropped (snapshot, start input, deps, state) and the queue take at most 1.3 MB together; 0.6 MB are left for the
 * window of the conversation and the counters of the run. A model response or a tool result enters history once and may leave
 * the window again. It has a budget of its own: it must fit into one payload, and into a page of a query's answer beside state
 * and final result. A codec adds a few bytes to each payload: the payload limit is far enough below Temporal's 2 MiB for that.
 */
export const BYTE_BUDGETS = {
  /** The pinned snapshot of the agent: instructions, tool schemas, output schema. */
  snapshot: 400_000,
  /** The input of a run, text or parts, and the conversation before it. The first event is never dropped. */
  startInput: 400_000,
  /** The values that the code of an agent is given when its run begins. They are part of the snapshot. */
  injected: 64_000,
  /** The deps of a run, at its start and after every change; also the operations of one change. */
  deps: 150_000,
  /** The state of a run, after every change. */
  state: 150_000,
  /** The content of one message sent to a run. */
  message: 100_000,
  /** The arguments that an approver edited, or the answer that an approver gave instead of the tool. */
  decision: 64_000,
  /** All messages in the queue of a run together. */
  queue: 200_000,
  /** All decisions, raised limits and refusals together that a run has accepted and not applied yet. */
  requests: 90_000,
  /** A model response without the arguments of its calls: text, structured value, provider items, names and ids. */
  modelText: 400_000,
  /** The summary of the older part of a conversation. */
  summary: 32_000,
  /** The arguments of one tool call. */
  toolArguments: 400_000,
  /** A whole model response as it is recorded: room for 200 calls with 5 kB of arguments each. */
  modelResponse: 1_200_000,
  /** The content of one tool result, unless its tool sets another budget. */
  toolResult: 64_000,
  /** The largest budget that a tool may set for the content of one result. */
  maxToolResult: 400_000,
  /** The changes of state and deps by one call of a local tool. */
  localChanges: 16_000,
  /** The details of one heartbeat of a tool. */
  heartbeat: 64_000,
  /** The message of a failure, wherever it is recorded. */
  errorMessage: 8_000,
} as const satisfies Record<string, number>;

/** The number of messages that may wait in the queue of a run. */
export const MAX_QUEUED_MESSAGES = 100;
