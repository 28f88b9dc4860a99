import type { LimitChanges } from '../agent/limits.ts';
import type { SpilledContent } from '../content/content.ts';
import type { JsonPiece } from '../json/json-piece.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { RecordedResponse } from '../model/recorded-response.ts';
import type { AnswerVerdict } from './verdict.ts';
import type { OfRun } from '../run/activity-messages.ts';
import type { RunOverrides } from '../run/overrides.ts';
import type { Principal } from '../run/principal.ts';
import type { ParentInput } from '../run/parent-run.ts';
import type { ProgramDocument } from './document.ts';

/** The contract between the run of a program, its activities and clients. Plain JSON; see `src/core/protocol.ts`. */

/** The input of the run of a program, the same from every client. */
export interface ProgramInput extends Pick<RunOverrides, 'tags' | 'live'> {
  /** The name of a program of the worker, or a program as a document. */
  program: string | ProgramDocument;
  input?: JsonObject;
  deps?: JsonObject;
  /** The state that the run begins with. Tools change it. */
  state?: JsonObject;
  /** Whom the run acts for. */
  principal?: Principal;
  /** Overrides limits of the program. */
  limits?: LimitChanges;
  /** Set by the run that starts this one as its child. */
  parent?: ParentInput;
  /** Takes over the results of an earlier run. */
  resume?: Resume;
}

/** The earlier run whose results are taken over if definition and inputs of the step are equal. */
export interface Resume {
  /** The id of the earlier run. */
  run: string;
  /** The first step that runs again, as `unit.step`: no result of it or of a later step is taken over. */
  from?: string;
}

/** Input of `readProgram`. */
export interface ReadProgramInput extends OfRun {
  /** The id of the earlier run. */
  runId: string;
}

/** Input of `resolveProgram`. A document is in the history already: the activity queries it from the run. */
export interface ResolveProgramInput extends OfRun, Pick<RunOverrides, 'tags' | 'live'> {
  /** The name of the program; absent for a document. */
  program?: string;
  limits?: LimitChanges;
  /** The amounts that are left of the limits of the parent. */
  left?: LimitChanges;
}

/** The part of the input of an activity that says which step it works for. */
interface OfStep extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  /** The address of the step. */
  step: string;
  /** From 2; absent for the first one. */
  attempt?: number;
  /** The ids of the outputs that the step refers to, by the address of their step. Absent if there are none. */
  outputs?: Record<string, string>;
}

/** Input of `askStep`: a reference to the prompt, never the prompt. */
export interface AskStepInput extends OfStep {
  /** The id of the event of the failed attempt before, which the prompt quotes. */
  failure?: string;
  /** A person has edited the prompt. */
  edited?: true;
}

/** Result of `askStep`: an answer with its checks, or the part of it that had arrived when the call was cancelled. It is kept short, because each step stores one. */
export type AskStepOutput =
  | { response: BriefResponse; verdict?: AnswerVerdict; promptLength: number }
  | { type: 'aborted'; partial?: RecordedResponse };

/** Input of `useMemory`. */
export interface UseMemoryInput extends OfStep {
  /** The time of the step, in milliseconds since the epoch: the time of the entry that it stores. */
  now: number;
  /** A person has edited what is stored or looked up. */
  edited?: true;
  /** The run has a principal, which the activity asks the run for. */
  principal?: true;
}

/** Result of `useMemory`. `id` is the id of the event. */
export interface UseMemoryOutput {
  id: string;
  output: JsonValue;
}

/** Input of `storeOutputs`: references to outputs, never the outputs. */
export interface StoreOutputsInput extends OfRun {
  /** The ids of the outputs, by their address. The address of a `forEach` that ends in `.items` stands for the outputs of its items. */
  outputs: Record<string, string>;
}

/** Result of `storeOutputs`: the locations by address. */
export interface StoreOutputsOutput {
  stored: Record<string, SpilledContent>;
}

/** Input of `loadOutput`. */
export interface LoadOutputInput extends OfRun, StoredOutput {
  /** The index of the first character of the piece, for the further pieces of a long output. */
  from?: number;
}

/** An output in the payload store. */
export interface StoredOutput {
  /** The address, as in the input of `storeOutputs`. */
  address: string;
  /** The id under which it was stored. */
  id: string;
  spilled: SpilledContent;
}

/** Result of `loadOutput`: the output, or a piece of its JSON if it is too long for one payload. */
export type LoadOutputOutput = { value: JsonValue } | { piece: JsonPiece };

/** A response whose finish reason is left out if it is `stop`. */
export type BriefResponse = Omit<RecordedResponse, 'finishReason'> & Partial<Pick<RecordedResponse, 'finishReason'>>;

/** Argument of the `stepValues` query. Each part is asked for only if the activity lacks it. */
export interface StepValuesQuestion {
  /** True: the input of the program, and its document if the input of the run holds it. */
  program?: true;
  /** The addresses of the outputs, in order; the answer may end before the last. */
  outputs?: string[];
  /** The step whose last failure or edited prompt is asked for. */
  step?: string;
  /** The output of which a piece is asked for, because it is too long for one answer. */
  piece?: { address: string; from: number };
}

/** Answer of the `stepValues` query. */
export interface StepValuesAnswer {
  program?: { input: JsonObject; document?: ProgramDocument };
  /** By address. At least one of those asked for in these three fields together, and as many as fit into a page. */
  outputs?: Record<string, JsonValue>;
  /** The locations of outputs that are only in the payload store, by address. */
  spilled?: Record<string, SpilledContent>;
  /** The addresses of outputs that are too long for one answer: they are asked for in pieces. */
  long?: string[];
  piece?: JsonPiece;
  /** The text of the failure of the attempt before. */
  failure?: string;
  /** The arguments as a person has edited them. */
  edited?: JsonObject;
}
