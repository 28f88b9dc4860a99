import type { OfRun } from './activity-messages.ts';
import type { Decision } from './approvals.ts';
import type { BatchEnd } from './batch.ts';
import { cutText, jsonBytes, type JsonPiece } from './byte-budgets.ts';
import type { SpilledContent } from './content.ts';
import { defined, type JsonObject, type JsonValue } from './json.ts';
import type { LimitChanges } from './limits.ts';
import type { RecordedResponse } from './model.ts';
import type { ProgramDocument, StepKind } from './program-document.ts';
import { OVERRIDES, RUN_BOUNDS, RUN_DATA, RUN_ORIGIN, type RunOverrides } from './run-input.ts';
import * as s from './shape.ts';
import type { AggregatedUsage } from './usage.ts';
import type { AnswerVerdict, AttemptDetails, StepError } from './verdicts.ts';

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
  /** The decisions that were applied before their steps waited for them in this execution. */
  decided?: Decision[];
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
  /** The text next to a structured answer, or its beginning. */
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
  /** The part of a running step that it needs to continue in the next execution. */
  progress?: StepProgress;
}

/** Outputs of items of a `forEach` that were too large to be carried: one value in the payload store. */
interface SpilledItems {
  /** The id under which they are stored. */
  id: string;
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

export interface RecordedCall {
  callId: string;
  /** The id and the offset of its event. */
  eventId: string;
  offset: number;
}

/** The state of a program as it is carried into the next execution. The snapshot of the run has the document. */
export interface ContinuedProgram extends Pick<ProgramState, 'resume' | 'earlier' | 'unreported' | 'decided'> {
  input: JsonObject;
  units: [unit: string, UnitState][];
  steps: [address: string, StepState][];
}

/** Returns the state of a program that has not begun. */
export function newProgramState(document: ProgramDocument, input: JsonObject, resume?: Resume): ProgramState {
  return { document, input, units: new Map(), steps: new Map(), asksInFlight: 0, ...defined({ resume }) };
}

/** Converts the state of a program to the form that is carried. */
export function toContinuedProgram({ input, units, steps, resume, earlier, unreported, decided }: ProgramState): ContinuedProgram {
  const resuming = defined({ resume, earlier });
  return { input, units: [...units], steps: [...steps], ...resuming, ...defined({ unreported, decided }) };
}

/** Restores the state of a program. */
export function fromContinuedProgram(document: ProgramDocument, carried: ContinuedProgram): ProgramState {
  const { input, units, steps, resume, earlier, unreported, decided } = carried;
  const state = { ...newProgramState(document, input, resume), units: new Map(units), steps: new Map(steps) };
  return { ...state, ...defined({ earlier, unreported, decided }) };
}

/** Names the step with the largest output of those that are carried, for a person who has to make it smaller. */
export function tooLargeText({ steps }: Pick<ProgramState, 'steps'>): string {
  const sizes = [...steps].map(([at, { output = null, items = {} }]) => ({ at, bytes: jsonBytes(output) + jsonBytes(items) }));
  const [largest] = sizes.toSorted((a, b) => b.bytes - a.bytes);
  return largest === undefined
    ? 'Its input is too large'
    : `Later steps refer to the output of step "${largest.at}", which has ${largest.bytes} bytes: make it smaller`;
}

/** The contract between the run of a program, its activities and clients. Plain JSON; see `src/core/protocol.ts`. */

const RESUME_MEMBERS = {
  /** The id of the earlier run. */
  run: s.boundedText({ minLength: 1 }),
  /** The first step that runs again, as `unit.step`: no result of it or of a later step is taken over. */
  from: s.optional(s.TEXT),
};

/** The earlier run whose results are taken over if definition and inputs of the step are equal. */
export interface Resume extends s.ObjectOf<typeof RESUME_MEMBERS> {}

const NAMED_UNIT = s.object({ name: s.TEXT, steps: s.ANY_LIST });

const INPUT_MEMBERS = {
  /** The name of a program of the worker, or a program as a document: the activity that pins it checks that, with all its problems at once. */
  program: s.either(
    s.boundedText({ minLength: 1 }),
    s.shape<ProgramDocument>({
      type: 'object',
      properties: { name: { type: 'string', minLength: 1 }, units: s.listOf(NAMED_UNIT) },
      required: ['version', 'name', 'units'],
    }),
  ),
  /** The input of the program. */
  input: s.optional(s.JSON_OBJECT),
  ...RUN_DATA,
  /** Takes over the results of an earlier run. */
  resume: s.optional<Resume>(s.closedObject(RESUME_MEMBERS)),
  ...RUN_BOUNDS,
  ...RUN_ORIGIN,
  /** Words by which lists find the run. */
  tags: OVERRIDES.tags,
  /** Whether deltas are published while models answer. */
  live: OVERRIDES.live,
  /** `batch`: model calls wait for batches of the provider. */
  tier: OVERRIDES.tier,
};

/** The input of the run of a program, the same from every client. */
export interface ProgramInput
  extends s.ObjectOf<typeof RUN_DATA>, s.ObjectOf<typeof RUN_BOUNDS>, s.ObjectOf<typeof RUN_ORIGIN>, s.ObjectOf<typeof INPUT_MEMBERS> {}
export const PROGRAM_INPUT: s.Shape<ProgramInput> = s.closedObject(INPUT_MEMBERS);

/** Input of `readProgram`. */
export interface ReadProgramInput extends OfRun {
  /** The id of the earlier run. */
  runId: string;
}

/** Input of `resolveProgram`. A document is in the history already: the activity queries it from the run. */
export interface ResolveProgramInput extends OfRun, Pick<RunOverrides, 'tags' | 'live' | 'tier'> {
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
  /** No batch has answered the call, so it is made at once. */
  unbatched?: true;
}

/** Result of `askStep`: an answer with its checks, or the part of it that had arrived when the call was cancelled. It is kept short, because each step stores one. */
export type AskStepOutput =
  | { response: BriefResponse; verdict?: AnswerVerdict; promptLength: number }
  | { type: 'aborted'; partial?: RecordedResponse }
  | BatchEnd;

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

/** The result of a unit. */
export interface UnitResult {
  /** The name of the unit. */
  name: string;
  /** How the unit ended. */
  status: UnitState['status'] | 'not_started';
  /** Why it failed. Absent unless it failed. */
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
  /** Milliseconds from its first step to its end. */
  durationMs?: number;
  /** The steps that have begun, in the order in which they began. Those of the items of a `forEach` that have ended are not among them. */
  steps: ProgramStepResult[];
  /** True: steps were left out to fit into the result. The record of events has them. */
  stepsCut?: true;
}

/** The result of one execution of a step. */
export interface ProgramStepResult {
  /** The name of the step, with the indexes of its items and rounds: `Sum[3]`. */
  name: string;
  /** The kind of the step, such as `ask` or `tool`. */
  kind: StepKind;
  /** How the step ended. */
  status: StepState['status'];
  /** What it returned. Absent if it failed, was skipped, or has an output that is stored elsewhere. */
  output?: JsonValue;
  /** True: the output is too large for the result. The record of events has it. */
  outputCut?: true;
  /** The text next to a structured output, or its beginning: the record of events has all of it. */
  text?: string;
  /** The tokens of all attempts, and the number of their model calls. Absent if they have made none. */
  usage?: AggregatedUsage;
  /** The number of attempts that have begun. */
  attempts: number;
  /** The attempts that failed, or whose answers have violations, in their order; of many, the last ones. */
  attemptDetails?: AttemptDetails[];
  /** True: text and details are too large for the result. The record of events has them. */
  detailsCut?: true;
  /** True: the output was taken over from an earlier run. */
  reused?: true;
  /** Why it failed. Absent unless it failed. */
  error?: StepError;
  /** Why it was skipped. Absent unless it was. */
  reason?: string;
  /** Milliseconds from its start to its end, with all attempts. */
  durationMs?: number;
}

/** Returns the results of all units, in the order of the document. */
export function unitResults({ document, units, steps }: Pick<ProgramState, 'document' | 'units' | 'steps'>): UnitResult[] {
  return document.units.map(({ name }) => {
    const state = units.get(name);
    const own = [...steps].filter(([at]) => at.startsWith(`${name}.`));
    return {
      name,
      status: state?.status ?? 'not_started',
      ...defined({ error: state?.error, reason: state?.reason }),
      ...durationOf(state),
      steps: own.map(([at, one]) => stepResult(at.slice(name.length + 1), one)),
    };
  });
}

function stepResult(name: string, state: StepState): ProgramStepResult {
  const { kind, status, output, outputForgotten, spilled, text, usage, reused, attempts, attemptDetails, detailsForgotten } = state;
  const { error, reason } = state;
  return {
    name,
    kind,
    status,
    ...defined({ output }),
    ...(output === undefined && (outputForgotten === true || spilled !== undefined) ? { outputCut: true as const } : {}),
    ...defined({ text, usage }),
    attempts,
    ...defined({ attemptDetails }),
    ...(detailsForgotten ? { detailsCut: true as const } : {}),
    ...(reused ? { reused } : {}),
    ...defined({ error, reason }),
    ...durationOf(state),
  };
}

function durationOf(state: { startedAt: number; endedAt?: number } | undefined): { durationMs?: number } {
  return state?.endedAt === undefined ? {} : { durationMs: state.endedAt - state.startedAt };
}

/** Results of units that fit into a closing event. `unitsCut`: the last units were left out. */
interface FittingUnits {
  units: UnitResult[];
  unitsCut?: true;
}

/** The bytes of the largest output that is kept, in the order in which they are tried. */
const OUTPUT_BYTES = [2_000, 500, 0];

/** The bytes of the message of an error, if even errors have to be cut. */
const MESSAGE_BYTES = 200;

/**
 * Returns the results of units in at most `bytes` of JSON: without large outputs and details first, then without the usage of steps, then
 * without the steps that did not fail, then without any steps, and at last without the last units. The record of events has everything.
 */
export function fittingUnits(all: readonly UnitResult[], bytes: number): FittingUnits {
  const fits = (units: readonly UnitResult[]): boolean => jsonBytes(units) <= bytes;
  let units = [...all];
  for (const most of OUTPUT_BYTES) {
    if (fits(units)) return { units };
    units = units.map((unit) => ({ ...unit, steps: unit.steps.map((step) => withoutLarge(step, most)) }));
  }
  if (fits(units)) return { units };
  units = units.map((unit) => ({ ...unit, steps: unit.steps.map(({ usage: _, ...step }) => step) }));
  if (fits(units)) return { units };
  units = units.map((unit) => ({ ...unit, steps: unit.steps.filter(({ status }) => status === 'failed'), stepsCut: true }));
  if (fits(units)) return { units };
  units = units.map(withoutSteps);
  if (fits(units)) return { units };
  while (units.length > 0 && !fits(units)) units = units.slice(0, Math.floor(units.length / 2));
  return { units, unitsCut: true };
}

function withoutLarge({ output, text, attemptDetails, ...step }: ProgramStepResult, bytes: number): ProgramStepResult {
  const details = defined({ text, attemptDetails });
  const hasDetails = Object.keys(details).length > 0;
  return {
    ...step,
    ...(output === undefined ? {} : jsonBytes(output) <= bytes ? { output } : { outputCut: true }),
    ...(!hasDetails ? {} : jsonBytes(details) <= bytes ? details : { detailsCut: true }),
  };
}

function withoutSteps({ error, ...unit }: UnitResult): UnitResult {
  const cut = error === undefined ? {} : { error: { code: error.code, message: cutText(error.message, MESSAGE_BYTES), context: {} } };
  return { ...unit, ...cut, steps: [], stepsCut: true };
}
