import type { LimitChanges } from '../agent/limits.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { RecordedResponse } from '../model/recorded-response.ts';
import type { AnswerVerdict } from './verdict.ts';
import type { OfRun } from '../run/activity-messages.ts';
import type { RunOverrides } from '../run/overrides.ts';
import type { ParentInput } from '../run/parent-run.ts';
import type { ProgramDocument } from './document.ts';

/** The contract between the run of a program, its activities and clients. Plain JSON; see `src/core/protocol.ts`. */

/** The input of the run of a program, the same from every client. */
export interface ProgramInput extends Pick<RunOverrides, 'tags'> {
  /** The name of a program of the worker, or a program as a document. */
  program: string | ProgramDocument;
  input?: JsonObject;
  deps?: JsonObject;
  /** Overrides limits of the program. */
  limits?: LimitChanges;
  /** Set by the run that starts this one as its child. */
  parent?: ParentInput;
}

/** Input of `resolveProgram`. A document is in the history already: the activity queries it from the run. */
export interface ResolveProgramInput extends OfRun, Pick<RunOverrides, 'tags'> {
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
  /** From 1. */
  attempt: number;
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

/** Result of `askStep`. */
export type AskStepOutput =
  | { type: 'response'; response: RecordedResponse; verdict: AnswerVerdict; promptLength: number }
  | { type: 'aborted'; partial?: RecordedResponse };

/** Input of `useMemory`. */
export interface UseMemoryInput extends OfStep {
  /** The time of the step, in milliseconds since the epoch: the time of the entry that it stores. */
  now: number;
}

/** Result of `useMemory`. `id` is the id of the event. */
export interface UseMemoryOutput {
  id: string;
  output: JsonValue;
}

/** Argument of the `stepValues` query. Each part is asked for only if the activity lacks it. */
export interface StepValuesQuestion {
  /** True: the input of the program, and its document if the input of the run holds it. */
  program?: true;
  /** The addresses of the outputs, in order; the answer may end before the last. */
  outputs?: string[];
  /** The step whose last failure or edited prompt is asked for. */
  step?: string;
}

/** Answer of the `stepValues` query. */
export interface StepValuesAnswer {
  program?: { input: JsonObject; document?: ProgramDocument };
  /** By address. At least one of those asked for, and as many as fit into a page. */
  outputs?: Record<string, JsonValue>;
  /** The formatted error of the attempt before. */
  failure?: string;
  /** The arguments as a person has edited them. */
  edited?: JsonObject;
}
