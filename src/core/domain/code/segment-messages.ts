import type { GuardrailReport } from '../guardrails/guardrail.ts';
import type { AgentSnapshot } from '../agent/agent-snapshot.ts';
import type { ApprovalRequirement } from '../approvals/approval.ts';
import type { JsonValue } from '../json/json.ts';
import type { SpilledContent, ToolCall } from '../content/content.ts';
import type { CodeCallResult, Moment } from '../../execution/executor.ts';
import type { DataInput, OfRun } from '../run/activity-messages.ts';
import type { CallReview } from '../hooks/hook-record.ts';
import type { CodeJournal } from './journal.ts';

/** Input of `runCode`: one segment of a cell. */
export interface RunSegmentInput extends OfRun, DataInput {
  agentName: string;
  /** Digest of the snapshot. */
  agent: string;
  /** The id of the model's call of `run_code`, the offset and the id of its event, and its index in the content. */
  callId: string;
  at: [offset: number, index: number];
  eventId: string;
  /** The number of the step, from 1. */
  step: number;
  /** The number of cells in the journal before this one. */
  cell: number;
  /** The number of segments of this cell before this one. */
  segment: number;
  /** The digest of the last segment before this one, of any cell; the SHA-256 of the checkpoint if there is none since. Absent: the namespace is empty. */
  after?: string;
  /** The number of calls that the segments before have made. */
  calls: number;
  /** Milliseconds that the segments before took. */
  spentMs: number;
  moment: Moment;
  /** A checkpoint is wanted after the cell, because the journal is large. */
  checkpoint?: true;
  /** Absent: the activity must query the journal. */
  code?: string;
  /** The results of the calls of the segment before. Absent for the first segment, and if the activity must query the journal. */
  results?: CodeCallResult[];
  /** For a local activity whose worker lacks the namespace: all that it needs to run the cells again. */
  whole?: { snapshot: AgentSnapshot; journal: CodeJournal };
}

/** Result of `runCode`. A local activity tells its location, because the history has no input of it. */
export type RunSegmentOutput = { at?: [offset: number, index: number]; segment?: number } & (
  | { type: 'cold' }
  | {
      type: 'calls';
      /** Their ids follow from the call of `run_code` and from their numbers. */
      calls: Pick<ToolCall, 'name' | 'arguments'>[];
      problems?: Record<string, string>;
      approvals?: Record<string, ApprovalRequirement>;
      rewrites?: CallReview['rewrites'];
      /** The answers of hooks about the calls. */
      hooks?: CallReview['hooks'];
      guardrails?: GuardrailReport;
      digest: string;
      durationMs: number;
    }
  | {
      type: 'ended';
      /** The id of the result. */
      id: string;
      /** The result that the model reads. */
      content: JsonValue[];
      isError?: true;
      /** The final answer of the cell. */
      final?: { value: JsonValue };
      /** Keys to set in the run's state. */
      state?: Record<string, JsonValue>;
      /** Absent: the cell was killed, or used up its time or memory, and is no part of the namespace. */
      digest?: string;
      /** The namespace is lost: the journal begins anew with this cell, or after it. */
      isLost?: true;
      /** The namespace after the cell, in the payload store: the journal begins anew after it. */
      checkpoint?: SpilledContent;
      durationMs: number;
    }
);

/** Question for a part of the journal, as pages of JSON text. */
export interface JournalQuestion {
  /** The number of characters that are known. */
  from: number;
  /** The index of one cell. Absent: the whole journal. */
  cell?: number;
  /** The index of a segment of that cell, if only the results of its calls are needed. */
  segment?: number;
}

/** One page of the JSON text. */
export interface JournalPage {
  text: string;
  total: number;
}
