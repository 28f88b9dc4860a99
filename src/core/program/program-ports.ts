import type { SpilledContent } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { EarlierRun, StoredOutput } from '../domain/program-run.ts';
import type { Spent } from '../domain/usage.ts';
import type { AnswerVerdict } from '../domain/verdicts.ts';
import type { ChildPorts } from '../capabilities/children/agent-calls.ts';
import type { NotificationPorts } from '../capabilities/notifications.ts';

/** One attempt of an `ask`, by reference: the activity renders the prompt from the program and the referenced results. */
export interface AskCall {
  /** The address of the step. */
  address: string;
  /** 1-based. */
  attempt: number;
  /** The ids of the outputs referenced by the prompt, by address. */
  outputs: Record<string, string>;
  /** The id of the event of the previous failed attempt, if this attempt is told why it failed. */
  failureId?: string;
  /** A person has edited the prompt: the activity queries it. */
  edited?: true;
  /** The maximum milliseconds of the attempt, if the step limits them. */
  timeoutMs?: number;
  /** `provider/model`. */
  model: string;
  /** The call waits for its provider's batch. */
  isBatched?: true;
}

/** The outcome of one attempt of an `ask`. */
export type AskOutcome =
  | { type: 'answered'; response: RecordedResponse; verdict: AnswerVerdict; promptLength: number }
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse };

/** One use of the memory, by reference. */
export interface MemoryCall {
  kind: 'remember' | 'recall';
  address: string;
  attempt: number;
  outputs: Record<string, string>;
  /** Milliseconds since the epoch. */
  now: number;
  /** A person has edited the stored value or the query: the activity queries it. */
  edited?: true;
  /** The maximum milliseconds of the attempt, if the step limits them. */
  timeoutMs?: number;
}

/** The outcome of a use of the memory. `id`: the event's id. */
export type MemoryOutcome =
  | { type: 'done'; id: string; output: JsonValue }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled' };

/** The outcome of reading an earlier run. */
export type EarlierOutcome =
  | { type: 'read'; earlier: EarlierRun }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled' };

/** The outcome of moving outputs to the payload store: their locations by address. */
export type StoreOutcome =
  | { type: 'stored'; stored: Record<string, SpilledContent> }
  | { type: 'failed'; message: string }
  | { type: 'cancelled' };

/** The outcome of loading an output from the payload store. */
export type LoadOutcome =
  | { type: 'loaded'; value: JsonValue }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled' };

/** Arguments for a tool whose schema may change them. `of`: the call of a step, or the decision that edits a call. */
export interface ParsedCall {
  tool: string;
  arguments: JsonObject;
  of: string;
}

/** The outcome of parsing: the arguments that the tool runs with, or why it refuses them. */
export type ParseOutcome =
  | { type: 'parsed'; arguments: JsonObject }
  | { type: 'refused'; problem: string }
  | { type: 'failed'; message: string }
  | { type: 'cancelled' };

/** The effects of a program: those of every run, and additional ones. Ports must not reject: failures are outcomes. */
export interface ProgramPorts extends ChildPorts, NotificationPorts {
  ask(call: AskCall): Promise<AskOutcome>;
  /** Asks the worker with which arguments a tool would run, whose schema may change them. */
  parseArguments(call: ParsedCall): Promise<ParseOutcome>;
  useMemory(call: MemoryCall): Promise<MemoryOutcome>;
  /**
   * Returns the id of a call's event. It depends on the call's id, and not on previously created ids. So it stays the same if the workflow
   * task that records the event is lost and repeated, even if parallel steps then have another order: a local call keeps its idempotency
   * key. A reset to an earlier point gives the call a different id.
   */
  callEventId(callId: string): string;
  readEarlier(runId: string): Promise<EarlierOutcome>;
  /** Moves outputs to the payload store, given as ids by address (see `StoreOutputsInput`). */
  storeOutputs(outputs: Record<string, string>): Promise<StoreOutcome>;
  /** Loads an output from the payload store. It does not count as progress of the execution. */
  loadOutput(output: StoredOutput): Promise<LoadOutcome>;
}
