import type { Decision, RefusedRequest } from '../approvals/approval.ts';
import type { Compaction } from '../agent/compaction.ts';
import type { ContentItem } from '../content/content.ts';
import type { RecordedUpdate } from './context-update.ts';
import type { JsonValue } from '../json/json.ts';
import type { LimitRaise } from '../agent/limits.ts';
import type { EstimatedUsage, Spent, UsageStats } from '../model/usage.ts';

/**
 * What happened, who did it, when (seed 000). Events are append-only and numbered by their offset in the run.
 * There is one event per model response and one per batch of tool results.
 */
export interface Event {
  /** Unique in the run. From `uuid4()` of the workflow or from the activity that made the content, never a counter. */
  id: string;
  executionId: string;
  /** Seconds since the epoch. */
  timestamp: number;
  /** `user`, or the name of the agent. */
  author: string;
  content: ContentItem[];
  /** On the event of a model response: what the call cost, or null where the provider did not say. */
  usage?: UsageStats | null;
  /** On the same, where the provider did not say: what it is estimated at. */
  estimated?: EstimatedUsage;
  /** On the same: what the attempts before cost, which failed after the provider had begun to answer. */
  failedAttempts?: Spent;
  /** The model call that this event is about failed for good: nothing of it but its usage is recorded. */
  failed?: { code: string };
  /** On a model response that was cut off by a cancellation or a message: the content is what had arrived. */
  interrupted?: true;
  /** On a model response: opaque items that the provider wants back in the next request (encrypted reasoning). */
  providerItems?: JsonValue[];
  /** What this event takes out of the window. Its content, if any, is a summary. */
  compaction?: Compaction;
  /** On results of calls: other calls of the same response still wait for a decision. */
  partial?: true;
  /** On the same: what these calls changed of the deps, in the order in which it was applied. */
  contextUpdates?: RecordedUpdate[];
  /** What was decided about a call, by whom. The content of such an event is empty, as of the two below. */
  decision?: Decision;
  /** What was asked of the run and refused. */
  refused?: RefusedRequest;
  /** Limits that were raised. */
  raised?: LimitRaise;
}

/** What makes an event unique and tells when it happened: supplied from outside, so that the domain stays deterministic. */
export interface EventStamp {
  id: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** An event of the run `executionId`, empty unless content is given. */
export function newEvent({ id, now }: EventStamp, executionId: string, author: string, content: ContentItem[] = []): Event {
  return { id, executionId, timestamp: now / 1000, author, content };
}
