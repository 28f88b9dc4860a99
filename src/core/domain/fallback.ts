import type { ErrorCode } from './errors.ts';
import { defined } from './json.ts';
import * as s from './shape.ts';

/** The most models that an agent may name. */
export const MOST_MODELS = 8;

/** Milliseconds for which a model that has failed is asked last, if the agent does not say. */
export const DEFAULT_COOL_DOWN_MS = 30_000;

/**
 * The failures after which the next model of a list is asked, unless the agent names others: the provider or its account cannot serve
 * the call, and another one may.
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
 * The failures that an agent may name. Those of the request would most likely happen again, so they are not among the defaults. A
 * refusal and a filter are answers: no other model is asked to give another one. A conversation that is too long is compacted first.
 */
export const MAY_MOVE_ON: readonly ErrorCode[] = [
  ...MOVES_ON,
  'model_bad_request',
  'model_request_too_large',
  'model_unprocessable',
  'model_error',
];

/** A model of a list, as it is pinned for a run. */
export interface ListedModel {
  /** `provider/model`. */
  model: string;
  /** Tokens of input that it accepts. */
  contextTokens: number;
}

/** The models of an agent that has several, and the way in which its calls move on from one to the next. Pinned in the snapshot. */
export interface FallbackPolicy {
  /** In the order in which they are asked. The first one is the `model` of the agent. */
  models: ListedModel[];
  /** The failures after which the next one is asked. Absent: the defaults. */
  on?: ErrorCode[];
  /** Milliseconds for which a model that has failed is asked last. Absent: the default. */
  coolDownMs?: number;
  /** Milliseconds that a call waits for the limits of a model before the next one is asked. Absent: as long as it takes. */
  maxWaitMs?: number;
  /** The time at which the first model is asked again. Absent: with the next turn. */
  returnAt?: 'call';
}

const TRIED_MODEL = s.object({
  /** `provider/model`. */
  model: s.TEXT,
  /** The code of its failure. */
  code: s.TEXT,
});

/** A model that was asked before the one that answered, and how it failed. @useDeclaredType */
export type TriedModel = s.ValueOf<typeof TRIED_MODEL>;

const SKIPPED_MODEL = s.object({
  /** `provider/model`. */
  model: s.TEXT,
  /**
   * `cooling_down`: it had failed a moment before, in any run of the worker. `too_small`: the conversation does not fit its context.
   * `no_hosted_tool`: its provider does not know a hosted tool of the agent. `long_wait`: the limits of its provider were used up for
   * longer than `maxWait`.
   */
  reason: s.oneOf('cooling_down', 'too_small', 'no_hosted_tool', 'long_wait'),
});

/** A model in front of the one that answered that was not asked. @useDeclaredType */
export type SkippedModel = s.ValueOf<typeof SKIPPED_MODEL>;

/** The model that gave an answer, on the event of the answer and in its step. */
export const ANSWERED_BY = s.optional(s.TEXT);

export const ANSWER_ORIGIN_MEMBERS = {
  /** The model that answered, `provider/model`. Absent: the first one of the agent. */
  answeredBy: ANSWERED_BY,
  /** The models that were asked before it in the attempt that it answered, in order. Absent: none. */
  tried: s.optional(s.listOf(TRIED_MODEL)),
  /** The models in front of it that were not asked. Absent: none. */
  skipped: s.optional(s.listOf(SKIPPED_MODEL)),
};

/** Which model of a list gave an answer, and why those in front of it did not. */
export interface AnswerOrigin extends s.ObjectOf<typeof ANSWER_ORIGIN_MEMBERS> {}

/** Returns the fields of a response that say which model gave it. */
export function originOf({ answeredBy, tried, skipped }: AnswerOrigin): AnswerOrigin {
  return defined({ answeredBy, tried, skipped });
}

/** True for a model of the list of an agent: the costs of its failed attempts come with their prices. */
export function isListed({ fallback }: { fallback?: FallbackPolicy }, model: string): boolean {
  return fallback?.models.some((one) => one.model === model) === true;
}

/** True if another model of the list accepts more tokens than the first one. */
export function hasLargerModel({ fallback }: { fallback?: FallbackPolicy }): boolean {
  const [first, ...others] = fallback?.models ?? [];
  return first !== undefined && others.some(({ contextTokens }) => contextTokens > first.contextTokens);
}
