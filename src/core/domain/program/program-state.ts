import type { LimitChanges } from '../agent/limits.ts';
import type { SpilledContent } from '../content/content.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import type { AttemptDetails } from './attempt-details.ts';
import type { ProgramDocument, StepKind } from './document.ts';
import type { Resume } from './messages.ts';
import type { StepError } from './step-error.ts';

/** The state of a program in its run: plain data. */
export interface ProgramState {
  document: ProgramDocument;
  input: JsonObject;
  /** By the name of the unit. Absent until the unit begins. */
  units: Map<string, UnitState>;
  /** By the address of the step. Absent until the step begins. */
  steps: Map<string, StepState>;
  /** The earlier run whose results are taken over. */
  resume?: Resume;
  /** The results of that run, once they are read. */
  earlier?: EarlierRun;
  /** The amounts given to children whose use is not known, because they were terminated for instance. They count as used. */
  unreported?: LimitChanges;
  /** The number of model calls in flight. They count against the limit of steps before they have ended. */
  asksInFlight: number;
}

/** The program and the results of an earlier run. */
export interface EarlierRun {
  document: ProgramDocument;
  input: JsonObject;
  /** The outputs of the steps that completed, by address. */
  outputs: [address: string, output: JsonValue][];
}

/** A unit that has begun, or that will never begin. */
export interface UnitState {
  status: 'running' | 'completed' | 'failed' | 'skipped';
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt?: number;
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
}

/** One execution of a step. */
export interface StepState {
  kind: StepKind;
  status: 'running' | 'completed' | 'failed' | 'skipped';
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt?: number;
  /** The output was taken over from an earlier run, at no cost. */
  reused?: true;
  /** The number of attempts that have begun. */
  attempts: number;
  /** The output. Absent unless the step has completed; also once no later step can refer to it, or while it is only in the payload store. */
  output?: JsonValue;
  /** The location of the output in the payload store: it was too large to be carried. Once it is loaded, `output` has it too. */
  spilled?: SpilledContent;
  /** The output is no longer in the state: nothing refers to it. The record of events has it. */
  outputForgotten?: true;
  /** The id under which workers keep the output. */
  outputId?: string;
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
  /** The tokens of all attempts, and the number of their model calls. Absent if they have made none. */
  usage?: AggregatedUsage;
  /** The text beside a structured answer, or its beginning. */
  text?: string;
  /** The attempts that failed or whose answers have violations. */
  attemptDetails?: AttemptDetails[];
  /** Text and details are no longer in the state. The record of events has them. */
  detailsForgotten?: true;
  /** For `repeat`: the number of rounds that have begun. */
  rounds?: number;
  /** For `forEach`: the outputs of the items that have ended, by their index. Their steps are forgotten. */
  items?: Record<string, JsonValue>;
  /** For `forEach`: the outputs of further items that have ended, in the payload store. */
  spilledItems?: SpilledItems[];
  /** The part of a running step that it needs to go on in the next execution. */
  progress?: StepProgress;
}

/** Outputs of items of a `forEach` that were too large to be carried: one value in the payload store. */
export interface SpilledItems {
  /** The id under which they are stored. */
  id: string;
  /** The indexes of the items. */
  indexes: number[];
  spilled: SpilledContent;
}

/** The position of a running step between two effects. */
export interface StepProgress {
  /** The failure of the attempt before, and the id of its event. */
  failure?: { error: StepError; id: string };
  /** The end of a wait: of a `sleep`, or before the next attempt. Milliseconds since the epoch. */
  wakeAt?: number;
  /** The event of the call that the current attempt makes, or that a person decides about. */
  call?: RecordedCall;
  /** The id that the event of the next call of a tool gets. */
  callEventId?: string;
  /** A person has approved the current attempt, with the edited arguments if there are any. */
  approved?: { arguments?: JsonObject };
  /** The output of the current attempt, while a person reviews it. */
  held?: { output: JsonValue; id: string };
  /** The run that the current attempt has started as a child. */
  child?: RunningChild;
  /** For `branch`: the index of the case that was taken; -1 for `else`. */
  taken?: number;
}

/** A child of the run of a program. */
export interface RunningChild {
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** For an `ask` with tools: the number of characters of its prompt. */
  promptLength?: number;
  /** The last time at which it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** The part of the limits of the run that it has been given. Absent if the run shares no limit with it. */
  given?: LimitChanges;
}

/** A call in the record. */
export interface RecordedCall {
  callId: string;
  /** The id and the offset of its event. */
  eventId: string;
  offset: number;
}

/** The state of a program as it is carried into the next execution. The snapshot of the run has the document. */
export interface CarriedProgram extends Pick<ProgramState, 'resume' | 'earlier' | 'unreported'> {
  input: JsonObject;
  units: [unit: string, UnitState][];
  steps: [address: string, StepState][];
}
