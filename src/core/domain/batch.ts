import type { ErrorCode } from './errors.ts';
import { isJsonObject } from './json.ts';
import { activityDetails } from './missing-definitions.ts';
import type { Spent } from './usage.ts';

/** The tiers of a run: `batch` buys the tokens of its model calls in batches of the provider, for half the money and some hours of time. */
export const TIERS = ['interactive', 'batch'] as const;

/** The way in which the model calls of a run are made. @useDeclaredType */
export type Tier = (typeof TIERS)[number];

/** What happens to calls that a batch has not answered in time. */
export const ON_EXPIRED = ['interactive', 'retry', 'fail'] as const;

/** What a call does whose batch has not answered in time: an ordinary call (`interactive`), another batch (`retry`), or `fail`. @useDeclaredType */
export type OnExpired = (typeof ON_EXPIRED)[number];

/** How the calls of one provider are collected into batches. */
export interface BatchPolicy {
  /** Milliseconds that the first call of a batch waits for others. */
  windowMs: number;
  /** The most calls of a batch. */
  most: number;
  /** The most bytes of the requests of a batch, approximately. */
  mostBytes: number;
  /** Milliseconds from the submission of a batch after which it is cancelled, and its open calls are expired. */
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
  /** The digest of the request as it is made from the conversation alone. */
  digest: string;
  /** The bytes of the request. */
  bytes: number;
  /** The input of the activity, without what only helps the process of its worker. */
  input: object;
  /** The tags of its run, if the key of the provider depends on them. Calls of one batch have the same. */
  tags?: string[];
  /** The number of batches that have failed to answer it. Absent: none. */
  tries?: number;
  /** What these have cost. */
  spent?: Spent;
}

/** Returns the key of a call among all calls of a namespace. */
export function batchedCallKey({ runId, activityId }: Pick<BatchedCall, 'runId' | 'activityId'>): string {
  return `${runId}/${activityId}`;
}

/** A batch that a collector has filled. */
export interface FilledBatch {
  /** Its number among the batches of the collector, from 0. */
  seq: number;
  calls: BatchedCall[];
  /** Milliseconds since the epoch. */
  filledAt: number;
  /** The id that the provider has given it. Absent: it is being submitted. */
  id?: string;
  submittedAt?: number;
  /** The provider has ended it. */
  hasEnded?: true;
  /** What was recorded about its requests before they were sent, by the key of the call. */
  records?: Record<string, object[]>;
  /** Why the provider takes no batch with these calls. */
  failure?: BatchFailure;
  /** How often its activities have failed for good since one has succeeded. Absent: never. */
  failures?: number;
}

/** The error of a batch, or of one of its calls. */
export interface BatchFailure {
  code: ErrorCode;
  message: string;
}

/** The output of a call that its batch has not answered. */
export type BatchEnd =
  /** The call is to be made at once. */
  { type: 'unbatched' } | ({ type: 'failed'; spent?: Spent } & BatchFailure);

/** The input of a collector: that of a new one, or the state that its execution before has left. */
export interface CollectorInput {
  /** The name of the provider in the workers. */
  provider: string;
  policy: BatchPolicy;
  /** The number of the next batch. */
  seq?: number;
  /** The run id of its first execution, which tells its batches from those of another collector with the same id. */
  first?: string;
  waiting?: WaitingCall[];
  filled?: FilledBatch[];
}

/** A call that is in no batch yet. */
export interface WaitingCall {
  call: BatchedCall;
  /** Milliseconds since the epoch. */
  since: number;
}

/** Answer of the `batch` query of a collector: what its activities need to know of a batch. */
export interface BatchView extends FilledBatch {
  provider: string;
  policy: BatchPolicy;
  /** The name by which the provider finds the batch again. */
  key: string;
}

/** One answer of the `calls` query of a collector, which is asked for several calls at once: the place of a call. */
export type CallPlace =
  /** `since`: milliseconds since the epoch. */
  | { state: 'waiting'; since: number }
  | { state: 'in_batch'; since: number; seq: number; id?: string }
  /** The collector does not have it. `isFull`: and takes no more for now. */
  | { state: 'unknown'; isFull: boolean };

/** Input of `submitBatch`, `pollBatch` and `completeBatch`. The batch itself is read from the collector by query. */
export interface OfBatch {
  seq: number;
}

/** Input of `pollBatch`. */
export interface PollBatchInput extends OfBatch {
  /** The deadline of the batch is over: it is cancelled. */
  isOver?: true;
  /** What the collector has now, for the metrics. */
  waiting: number;
  filled: number;
  oldestMs: number;
}

/** Result of `submitBatch`. */
export interface SubmitBatchOutput {
  /** The id that the provider has given the batch. Absent: no call of it was left, or the provider takes none. */
  id?: string;
  /** The keys of calls that wait no more. */
  gone?: string[];
  /** The keys of calls whose request cannot be made now: they wait for the next batch. */
  later?: string[];
  records?: Record<string, object[]>;
  failure?: BatchFailure;
  /** As the worker has it now. */
  policy: BatchPolicy;
}

/** Result of `pollBatch`. */
export interface PollBatchOutput {
  hasEnded: boolean;
  failure?: BatchFailure;
}

/** Result of `completeBatch`: the calls that wait for another batch. */
export interface CompleteBatchOutput {
  /** By the key of the call. `isNew`: the batch did not contain it. */
  again?: { key: string; spent?: Spent; isNew?: true }[];
}

/**
 * The details of a heartbeat of a call that waits for a batch. They are kept by the server alone, outside of the history: the next attempts
 * read them, and the activities of the collector. An attempt that would note the same notes nothing: each heartbeat is billed.
 */
export interface BatchDetails {
  provider: string;
  /** The time of the first registration, in milliseconds since the epoch. */
  since: number;
  /** The number of the attempt that has registered it first. None of its attempts counts: nothing was sent to a model. */
  first: number;
  /** The number of the collector. */
  collector: number;
  /** What the memory of the agent had for the request. */
  recalled?: object;
}

/** Reads from the details of a heartbeat or a failure where a call is registered. Nothing in the details is trusted. */
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
