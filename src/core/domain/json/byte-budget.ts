/**
 * The byte budgets of a run, in bytes of JSON in UTF-8, before any codec.
 *
 * Whatever a run still needs when it continues in its next execution travels in one payload of `MAX_PAYLOAD_BYTES`
 * (1.9 MB). So all that is kept for ever (snapshot, start input, deps, state) and the queue take at most 1.3 MB
 * together; 0.6 MB are left for the window of the conversation and the numbers of the run. What enters history once
 * and may leave the window again (a model response, a tool result) has a budget of its own: it must fit one payload,
 * and a page of a query's answer beside state and final result.
 * A codec adds a few bytes to each payload: the payload limit is far enough below Temporal's 2 MiB for that.
 */
export const BYTE_BUDGETS = {
  /** The agent as it is pinned: instructions, tool schemas, output schema. */
  snapshot: 400_000,
  /** The input of a run, text or parts: its first message, kept for ever. */
  startInput: 400_000,
  /** The deps of a run, as given and after every change; the operations of one change, too. */
  deps: 150_000,
  /** The state of a run, after every change. */
  state: 150_000,
  /** The content of one message sent to a run. */
  message: 100_000,
  /** Arguments of a call as a decision edited them, or the answer that it was given in the tool's stead. */
  decision: 64_000,
  /** All messages together that wait in the queue of a run. */
  queue: 200_000,
  /** Decisions, raised limits and refusals together that a run has taken and not applied yet. */
  requests: 90_000,
  /** What a model says beside the arguments of its calls: text, structured value, the provider's items, names and ids. */
  modelText: 400_000,
  /** The summary of the older part of a conversation. */
  summary: 32_000,
  /** The arguments of one tool call. */
  toolArguments: 400_000,
  /** A whole model response as it is recorded: room for 200 calls with 5 kB of arguments each. */
  modelResponse: 1_200_000,
  /** The content of one tool result where the tool does not say otherwise. */
  toolResult: 64_000,
  /** The most that a tool may choose for the content of one result. */
  maxToolResult: 400_000,
  /** What one call of a local tool may change of state and deps. */
  localChanges: 16_000,
  /** The details of one heartbeat of a tool. */
  heartbeat: 64_000,
  /** The message of a failure, wherever it is recorded. */
  errorMessage: 8_000,
} as const satisfies Record<string, number>;

/** The number of messages that may wait in the queue of a run. */
export const MAX_QUEUED_MESSAGES = 100;
