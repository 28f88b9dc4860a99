import type { ErrorCode } from './errors.ts';
import { isJsonObject } from './json.ts';
import { activityDetails } from './missing-definitions.ts';
import * as s from './shape.ts';
import type { Spent } from './usage.ts';

/** The tiers of a run: `batch` makes its model calls in batches of the provider, for half the price and some hours of delay. */
export const TIERS = ['interactive', 'batch'] as const;

/** How the model calls of a run are made. @useDeclaredType */
export type Tier = (typeof TIERS)[number];

/** The options for calls that a batch has not answered in time. */
export const ON_EXPIRED = ['interactive', 'retry', 'fail'] as const;

/**
 * What happens to a call whose batch has not answered in time: an ordinary call (`interactive`), another batch (`retry`), or `fail`.
 * @useDeclaredType
 */
export type OnExpired = (typeof ON_EXPIRED)[number];

/** How the calls for one provider are collected into batches. */
export interface BatchPolicy {
  /** Milliseconds that the first call of a batch waits for further calls. */
  windowMs: number;
  /** The maximum number of calls in a batch. */
  most: number;
  /** The approximate maximum bytes of a batch's requests. */
  mostBytes: number;
  /** Milliseconds after submission at which a batch is cancelled and its open calls expire. */
  deadlineMs: number;
  onExpired: OnExpired;
}

/**
 * A model call that waits for a batch, by reference: the input of its activity refers to the conversation, and the server knows the
 * activity by its id.
 */
export interface BatchedCall {
  workflowId: string;
  runId: string;
  activityId: string;
  /** The name of the activity. */
  activity: 'callModel' | 'askStep';
  /** `provider/model`. */
  model: string;
  /** The digest of the request, made from the conversation alone. */
  digest: string;
  /** The bytes of the request. */
  bytes: number;
  /** The input of the activity, without hints for its worker's process. */
  input: object;
  /** The tags of its run, if the provider's key depends on them. All calls of a batch have the same tags. */
  tags?: string[];
  /** The number of batches that failed to answer it. Absent: none. */
  tries?: number;
  /** The cost of those batches. */
  spent?: Spent;
}

const NAME = s.boundedText({ minLength: 1 });

/** The part of a call that it registers with. The collector adds the rest. */
export const REGISTERED_CALL = s.object({
  workflowId: NAME,
  runId: NAME,
  activityId: NAME,
  activity: s.oneOf('callModel', 'askStep'),
  model: NAME,
  digest: NAME,
  bytes: s.NUMBER,
  input: s.JSON_OBJECT,
  tags: s.optional(s.listOf(s.TEXT)),
});

/** Returns the key of a call, unique in a namespace. */
export function batchedCallKey({ runId, activityId }: Pick<BatchedCall, 'runId' | 'activityId'>): string {
  return `${runId}/${activityId}`;
}

/** A batch that a collector has filled. */
export interface FilledBatch {
  /** Its number among the collector's batches. 0-based. */
  seq: number;
  calls: BatchedCall[];
  /** Milliseconds since the epoch. */
  filledAt: number;
  /** The id given by the provider. Absent: it is being submitted. */
  id?: string;
  submittedAt?: number;
  /** The provider reports its end. */
  hasEnded?: true;
  /** The data recorded about its requests before they were sent, by call key. */
  records?: Record<string, object[]>;
  /** Why the provider does not accept a batch with these calls. */
  failure?: BatchFailure;
  /** The number of final failures of its activities since the last success. Absent: none. */
  failures?: number;
}

/** The error of a batch, or of one of its calls. */
export interface BatchFailure {
  code: ErrorCode;
  message: string;
}

/** The output of a call that its batch did not answer. */
export type BatchEnd =
  /** The call must be made immediately. */
  { type: 'unbatched' } | ({ type: 'failed'; spent?: Spent } & BatchFailure);

/** The input of a new collector, or the state left by its previous execution. */
export interface CollectorInput {
  /** The name of the provider in the workers. */
  provider: string;
  policy: BatchPolicy;
  /** The number of the next batch. */
  seq?: number;
  /** The run id of its first execution, which distinguishes its batches from those of another collector with the same id. */
  first?: string;
  waiting?: WaitingCall[];
  filled?: FilledBatch[];
}

/** A call that is not in a batch yet. */
export interface WaitingCall {
  call: BatchedCall;
  /** Milliseconds since the epoch. */
  since: number;
}

/** Answer of a collector's `batch` query: the data of a batch that its activities need. */
export interface BatchView extends FilledBatch {
  provider: string;
  policy: BatchPolicy;
  /** The name that lets the provider find the batch again. */
  key: string;
}

/** One answer of a collector's `calls` query, which asks about several calls at once: the place of a call. */
export type CallPlace =
  /** `since`: milliseconds since the epoch. */
  | { state: 'waiting'; since: number }
  | { state: 'in_batch'; since: number; seq: number; id?: string }
  /** The collector does not have it. `isFull`: it does not accept more calls for now. */
  | { state: 'unknown'; isFull: boolean };

/** Input of `submitBatch`, `pollBatch` and `completeBatch`. The batch itself is queried from the collector. */
export interface OfBatch {
  seq: number;
}

/** Input of `pollBatch`. */
export interface PollBatchInput extends OfBatch {
  /** The deadline of the batch has passed: it is cancelled. */
  isOver?: true;
  /** The collector's current numbers, for metrics. */
  waiting: number;
  filled: number;
  oldestMs: number;
}

/** Result of `submitBatch`. */
export interface SubmitBatchOutput {
  /** The id given by the provider. Absent: no call was left in the batch, or the provider does not accept it. */
  id?: string;
  /** The keys of calls that no longer wait. */
  gone?: string[];
  /** The keys of calls whose request cannot be made now: they wait for the next batch. */
  later?: string[];
  records?: Record<string, object[]>;
  failure?: BatchFailure;
  /** The worker's current policy. */
  policy: BatchPolicy;
}

/** Result of `pollBatch`. */
export interface PollBatchOutput {
  hasEnded: boolean;
  failure?: BatchFailure;
}

/** Result of `completeBatch`: the calls that wait for another batch. */
export interface CompleteBatchOutput {
  /** By call key. `isNew`: the batch did not contain the call. */
  again?: { key: string; spent?: Spent; isNew?: true }[];
}

/**
 * The details of a heartbeat of a call that waits for a batch. Only the server keeps them, outside of the history: the next attempts and
 * the collector's activities read them. An attempt does not record the same details again, because each heartbeat is billed.
 */
export interface BatchDetails {
  provider: string;
  /** The time of the first registration, in milliseconds since the epoch. */
  since: number;
  /** The number of the attempt that first registered the call. None of its attempts counts, because nothing was sent to a model. */
  first: number;
  /** The number of the collector. */
  collector: number;
  /** The entries that the agent's memory gave for the request. */
  recalled?: object;
}

/** Reads the place where a call is registered from the details of a heartbeat or failure. Nothing in the details is trusted. */
export function registrationIn(details: unknown): BatchDetails | undefined {
  const known = activityDetails(details);
  const batch: unknown = isJsonObject(known) ? known['batch'] : undefined;
  if (!isJsonObject(batch)) return undefined;
  const { provider, recalled } = batch;
  const [since, first, collector] = ['since', 'first', 'collector'].map((name) => batch[name]);
  if (typeof provider !== 'string' || typeof since !== 'number' || typeof first !== 'number' || typeof collector !== 'number')
    return undefined;
  return { provider, since, first, collector, ...(isJsonObject(recalled) ? { recalled } : {}) };
}
