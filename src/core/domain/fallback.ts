import type { ErrorCode } from './errors.ts';
import { defined } from './json.ts';
import * as s from './shape.ts';

/** The maximum number of models that an agent may list. */
export const MOST_MODELS = 8;

/** The default milliseconds for which a failed model is asked last. */
export const DEFAULT_COOL_DOWN_MS = 30_000;

/**
 * The default failures after which the next model of a list is asked: the provider or its account cannot serve the call, but another may.
 */
export const MOVES_ON: readonly ErrorCode[] = [
  'model_request_timeout',
  'model_conflict',
  'model_rate_limited',
  'model_server_error',
  'model_unreachable',
  'model_timeout',
  'model_bad_response',
  'model_no_answer',
  'model_client_failed',
  'model_quota_exceeded',
  'model_unauthorized',
  'model_forbidden',
  'model_not_found',
];

/**
 * The failures that an agent may list. Failures of the request would most likely recur, so they are not defaults. Refusals and content
 * filters are answers: no other model is asked instead. A conversation that is too long is compacted first.
 */
export const MAY_MOVE_ON: readonly ErrorCode[] = [
  ...MOVES_ON,
  'model_bad_request',
  'model_request_too_large',
  'model_unprocessable',
  'model_error',
];

/** A model of a list, as pinned for a run. */
export interface ListedModel {
  /** `provider/model`. */
  model: string;
  /** The input tokens that it accepts. */
  contextTokens: number;
}

/** The models of an agent that has several, and how its calls move from one to the next. Pinned in the snapshot. */
export interface FallbackPolicy {
  /** In the order in which they are asked. The first is the agent's `model`. */
  models: ListedModel[];
  /** The failures after which the next model is asked. Absent: the defaults. */
  on?: ErrorCode[];
  /** Milliseconds for which a failed model is asked last. Absent: the default. */
  coolDownMs?: number;
  /** Milliseconds that a call waits for a model's rate limits before the next model is asked. Absent: as long as necessary. */
  maxWaitMs?: number;
  /** When the first model is asked again. Absent: with the next turn. */
  returnAt?: 'call';
}

const TRIED_MODEL = s.object({
  /** `provider/model`. */
  model: s.TEXT,
  /** The code of its failure. */
  code: s.TEXT,
});

/** A model that was asked before the one that answered, and its failure. @useDeclaredType */
export type TriedModel = s.ValueOf<typeof TRIED_MODEL>;

const SKIPPED_MODEL = s.object({
  /** `provider/model`. */
  model: s.TEXT,
  /**
   * `cooling_down`: it failed recently, in any run of the worker. `too_small`: the conversation does not fit its context. `no_hosted_tool`:
   * its provider lacks a hosted tool of the agent. `long_wait`: its provider's rate limits were used up for longer than `maxWait`.
   */
  reason: s.oneOf('cooling_down', 'too_small', 'no_hosted_tool', 'long_wait'),
});

/** A model that was skipped before the one that answered. @useDeclaredType */
export type SkippedModel = s.ValueOf<typeof SKIPPED_MODEL>;

/** The model that gave an answer, on the event of the answer and in its step. */
export const ANSWERED_BY = s.optional(s.TEXT);

export const ANSWER_ORIGIN_MEMBERS = {
  /** The model that answered, `provider/model`. Absent: the agent's first model. */
  answeredBy: ANSWERED_BY,
  /** The models that were asked earlier in the same attempt, in order. Absent: none. */
  tried: s.optional(s.listOf(TRIED_MODEL)),
  /** The earlier models that were not asked. Absent: none. */
  skipped: s.optional(s.listOf(SKIPPED_MODEL)),
};

/** The model of a list that gave an answer, and why earlier models did not. */
export interface AnswerOrigin extends s.ObjectOf<typeof ANSWER_ORIGIN_MEMBERS> {}

/** Returns the fields of a response about the model that gave it. */
export function originOf({ answeredBy, tried, skipped }: AnswerOrigin): AnswerOrigin {
  return defined({ answeredBy, tried, skipped });
}

/** True for a model in an agent's list: the costs of its failed attempts are already priced. */
export function isListed({ fallback }: { fallback?: FallbackPolicy }, model: string): boolean {
  return fallback?.models.some((one) => one.model === model) === true;
}

/** True if another model of the list accepts more tokens than the first one. */
export function hasLargerModel({ fallback }: { fallback?: FallbackPolicy }): boolean {
  const [first, ...others] = fallback?.models ?? [];
  return first !== undefined && others.some(({ contextTokens }) => contextTokens > first.contextTokens);
}
