/**
 * The byte budgets of a run, in bytes of JSON in UTF-8, before any codec.
 *
 * Whatever a run still needs when it continues in its next execution travels in one payload of `MAX_PAYLOAD_BYTES`
 * (1.9 MB), so all that is kept for ever must fit beside the window of the conversation: snapshot, start input,
 * deps, state and queue take at most 1.3 MB together, and 0.6 MB are left for the window and the numbers of the run.
 * What enters history once and may leave the window again (a model response, a tool result) has a budget of its own.
 * A codec adds a few bytes for each payload; the payload limit is far enough below Temporal's 2 MiB for that.
 */
export const BYTE_BUDGETS = {
  /** The agent as it is pinned: instructions, tool schemas, output schema. */
  snapshot: 400_000,
  /** The input of a run, text or parts: its first message, kept for ever. */
  startInput: 400_000,
  /** The run's deps, as given and after every change. */
  deps: 150_000,
  /** The run's state, after every change. */
  state: 150_000,
  /** The content of one message sent to a run. */
  message: 100_000,
  /** All messages that wait in a run's queue together. */
  queue: 200_000,
  /** One model response as it is recorded: text, calls with their arguments, structured value, the provider's items. */
  modelResponse: 400_000,
  /** The content of one tool result where the tool does not say otherwise. */
  toolResult: 64_000,
  /** The most that a tool may choose for the content of one result. */
  maxToolResult: 400_000,
  /** The details of one heartbeat of a tool. */
  heartbeat: 64_000,
  /** The message of an error, wherever it is recorded. */
  errorMessage: 8_000,
} as const satisfies Record<string, number>;

/** The number of messages that may wait in a run's queue. */
export const MAX_QUEUED_MESSAGES = 100;
