import type { Decision, RefusedRequest } from '../approvals/approval.ts';
import type { Compaction } from '../agent/compaction.ts';
import type { ContentItem } from '../content/content.ts';
import type { RecordedUpdate } from './context-update.ts';
import type { GuardrailNote } from '../guardrails/guardrail.ts';
import type { JsonValue } from '../json/json.ts';
import type { LimitRaise } from '../agent/limits.ts';
import type { MemoryNote } from '../memory/memory-note.ts';
import type { Notice } from './notice.ts';
import type { PermissionChange } from '../permissions/permission-change.ts';
import type { StepNote } from '../program/step-note.ts';
import type { RefreshNote, TurnNote } from '../sessions/session-notes.ts';
import type { EstimatedUsage, Spent, UsageStats } from '../model/usage.ts';
import { isoTime } from './time.ts';

/**
 * One event of a run: its author, its time and its content. Events are append-only and numbered by their offset in the run.
 * There is one event per model response and one per batch of tool results.
 */
export interface Event {
  /** Unique in the run. From `uuid4()` of the workflow or from the activity that made the content, never a counter. */
  id: string;
  executionId: string;
  /** ISO 8601. */
  timestamp: string;
  /** `user`, the name of the agent, or `memory`. */
  author: string;
  content: ContentItem[];
  /** Calls that code made, or their results. They are not in the window: the model reads what the code makes of them. */
  caller?: 'code';
  /** The event is part of the conversation that the run was started with: no model call and no tool of this run produced it. */
  given?: true;
  /** On the event of a model response: the usage of the call, or null if the provider did not report it. */
  usage?: UsageStats | null;
  /** On the same, if the provider did not report the usage: the estimated usage. */
  estimated?: EstimatedUsage;
  /** On the same: the cost of earlier attempts that failed after the provider had begun to answer. */
  failedAttempts?: Spent;
  /** The model call of this event failed for good: only its usage is recorded. */
  failed?: { code: string };
  /** On a model response that a cancellation or a message cut off: the content is the part that had arrived. */
  interrupted?: true;
  /**
   * On a model response: the agent that gave it has guardrails for its answers. A response that may be the answer has not passed them
   * before the run continues or ends with it, and readers show none of its text until then.
   */
  guarded?: true;
  /** On a model response: what the provider expects back in the next request (reasoning, signatures), behind its owner (`ProviderItemsOwner`). */
  providerItems?: JsonValue[];
  /** What was left out or changed so that the run could continue. An event of its own has no content. */
  notices?: Notice[];
  /** The parts of the window that this event removes. Its content, if any, is a summary of them. */
  compaction?: Compaction;
  /** On tool results: other calls of the same response still wait for a decision. */
  partial?: true;
  /** On the same: the changes of deps by these calls, in the order in which they were applied. */
  contextUpdates?: RecordedUpdate[];
  /** A decision about a call. The content of an event with this field, or one of the two below, is empty. */
  decision?: Decision;
  /** A request to the run that was refused. */
  refused?: RefusedRequest;
  /** Limits that were raised. */
  raised?: LimitRaise;
  /** Permissions that were set; the content is empty. */
  permissions?: PermissionChange;
  /** Checks by guardrails: of the calls of a response, or in an event of their own, without content. */
  guardrails?: GuardrailNote;
  /** In a session: the end of a turn; the content is empty. */
  turn?: TurnNote;
  /** In a session: the conversation was emptied; the content is empty. */
  cleared?: true;
  /** In a session: the title that a model call has given it; the content is empty. */
  title?: string;
  /** In a session: the agent was resolved again; the content is empty. */
  refresh?: RefreshNote;
  /** The content was recalled from the memory of the agent for the next response, or the memory was not available. */
  memory?: MemoryNote;
  /** In the run of a program: the step that the event belongs to. */
  step?: StepNote;
}

/** The id and the time of an event. The caller supplies them, so that the domain stays deterministic. */
export interface EventStamp {
  id: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Makes an event of the run `executionId`, empty unless content is given. */
export function newEvent({ id, now }: EventStamp, executionId: string, author: string, content: ContentItem[] = []): Event {
  return { id, executionId, timestamp: isoTime(now), author, content };
}
