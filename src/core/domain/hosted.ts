import type { JsonObject } from './json.ts';
import * as s from './shape.ts';

/** A tool that the provider of a model runs by itself, as it is pinned for a run and offered with a request. */
export interface HostedTool {
  /** The name of the provider, and its name of the tool: `anthropic.web_search_20250305`. */
  id: string;
  /** The name by which rules and records know it: `web_search`. */
  name: string;
  /** Its options, in the words of the provider. */
  args: JsonObject;
}

/** The finish reason of an answer that the provider has stopped between hosted calls, and that the model continues if it is sent back. */
export const PAUSED = 'pause_turn';

/** The most hosted calls of a step, and the most bytes of the input of each. */
export const HOSTED_BOUNDS = { calls: 20, inputBytes: 1_000 } as const;

const HOSTED_CALL_MEMBERS = {
  /** The name of the hosted tool. */
  name: s.TEXT,
  /** The beginning of its input, as JSON. Absent: it had none. */
  input: s.optional(s.TEXT),
  /** The provider says that it has failed. */
  isError: s.optional(s.TRUE),
};

/** A call that the provider of a model has made by itself. It is no tool call of the run. */
export interface HostedCall extends s.ObjectOf<typeof HOSTED_CALL_MEMBERS> {}
export const HOSTED_CALL: s.Shape<HostedCall> = s.object(HOSTED_CALL_MEMBERS);
