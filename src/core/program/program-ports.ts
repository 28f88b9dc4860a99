import type { SpilledContent } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { EarlierRun, StoredOutput } from '../domain/program-run.ts';
import type { Spent } from '../domain/usage.ts';
import type { AnswerVerdict } from '../domain/verdicts.ts';
import type { RunPorts } from '../loop/ports.ts';

// Programs: the effects of the interpreter.

/** One attempt of an `ask`, by reference: the activity renders the prompt from the program and the results that it names. */
export interface AskCall {
  /** The address of the step. */
  address: string;
  /** From 1. */
  attempt: number;
  /** The ids of the outputs that the prompt names, by their address. */
  outputs: Record<string, string>;
  /** The id of the event of the failed attempt before, if this one is told why it failed. */
  failureId?: string;
  /** A person has edited the prompt: the activity queries it. */
  edited?: true;
  /** Milliseconds that the attempt may take, if the step limits them. */
  timeoutMs?: number;
  /** `provider/model`. */
  model: string;
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
  /** A person has edited what is stored or looked up: the activity queries it. */
  edited?: true;
  /** Milliseconds that the attempt may take, if the step limits them. */
  timeoutMs?: number;
}

/** The outcome of a use of the memory. `id` is the id of the event. */
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

/** The effects of a program: those of every run, and some of its own. Ports must not reject: what goes wrong is an outcome. */
export interface ProgramPorts extends RunPorts {
  ask(call: AskCall): Promise<AskOutcome>;
  useMemory(call: MemoryCall): Promise<MemoryOutcome>;
  /**
   * Returns the id of the event of a call. It depends on the id of the call and not on what else has got an id. So it is the same if
   * the workflow task that records the event is lost and done again, although steps that run side by side may then come in another
   * order: a local call keeps its idempotency key. A reset to an earlier point gives the call another id.
   */
  callEventId(callId: string): string;
  /** Reads the results of an earlier run. */
  readEarlier(runId: string): Promise<EarlierOutcome>;
  /** Moves outputs to the payload store, given by their ids by address (see `StoreOutputsInput`). */
  storeOutputs(outputs: Record<string, string>): Promise<StoreOutcome>;
  /** Loads an output from the payload store. It is not counted as progress of the execution. */
  loadOutput(output: StoredOutput): Promise<LoadOutcome>;
}
