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

/** The state of a program's run: plain data. */
export interface ProgramState {
  document: ProgramDocument;
  input: JsonObject;
  /** By unit name. Absent until the unit begins. */
  units: Map<string, UnitState>;
  /** By step address. Absent until the step begins. */
  steps: Map<string, StepState>;
  /** The earlier run whose results are reused. */
  resume?: Resume;
  /** The results of that run, once they have been read. */
  earlier?: EarlierRun;
  /** The amounts given to children whose usage is unknown, for example because they were terminated. They count as used. */
  unreported?: LimitChanges;
  /** The number of model calls in flight. They already count against the limit of steps. */
  asksInFlight: number;
  /**
   * The step that loads its outputs from the payload store before all others, because those that the others load would leave it no room. Only
   * until a step has moved on.
   */
  loadsFirst?: { unit: string; step: string; indexes: readonly number[] };
  /** The decisions that were applied before their steps waited for them in this execution. */
  decided?: Decision[];
}

/** The program and the results of an earlier run. */
export interface EarlierRun {
  document: ProgramDocument;
  input: JsonObject;
  /** The outputs of the completed steps, by address. */
  outputs: [address: string, output: JsonValue][];
  /** The outputs of the ended items of each `forEach` that has not completed, by address and index. Absent if there are none. */
  items?: [address: string, outputs: Record<string, JsonValue>][];
  /** The number of rounds started of each `repeat`, by address. Absent if there are none. */
  rounds?: [address: string, rounds: number][];
  /**
   * The addresses of the completed steps whose outputs the run dropped when it continued as new, and of each `forEach` that dropped outputs of
   * its items: of these, `items` has null. Absent if there are none.
   */
  dropped?: string[];
  /** For a lenient program: the addresses of its steps in the order in which they began. */
  order?: string[];
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
  /** The output was reused from an earlier run, at no cost. */
  reused?: true;
  /** The number of attempts that have begun. */
  attempts: number;
  /**
   * The output. Absent unless the step has completed; also once no later step can refer to it, and while it is only in the payload store.
   */
  output?: JsonValue;
  /** The location of the output in the payload store, if it was too large to be carried. Once loaded, it is also in `output`. */
  spilled?: SpilledContent;
  /** The output is no longer in the state, because nothing refers to it. The record of events has it. */
  outputForgotten?: true;
  /** The id under which workers keep the output. */
  outputId?: string;
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
  /** The tokens of all attempts, and the number of their model calls. Absent if there were none. */
  usage?: AggregatedUsage;
  /** The text next to a structured answer, or its beginning. */
  text?: string;
  /** The attempts that failed or whose answers have violations. */
  attemptDetails?: AttemptDetails[];
  /** Text and details are no longer in the state. The record of events has them. */
  detailsForgotten?: true;
  /** For `repeat`: the number of rounds started. */
  rounds?: number;
  /** For `forEach`: the outputs of the ended items, by index. Their steps are forgotten. */
  items?: Record<string, JsonValue>;
  /** For `forEach`: the outputs of more ended items, in the payload store. */
  spilledItems?: SpilledItems[];
  /** The data that a running step needs to continue in the next execution. */
  progress?: StepProgress;
}

/** Outputs of `forEach` items that were too large to be carried: one value in the payload store. */
interface SpilledItems {
  /** The id under which they are stored. */
  id: string;
  indexes: number[];
  spilled: SpilledContent;
}

/** The position of a running step between two effects. */
export interface StepProgress {
  /** The failure of the previous attempt, and the id of its event. */
  failure?: { error: StepError; id: string };
  /** The failure of the last attempt, while the step waits for its fallback: it makes no further attempt. */
  usedUp?: StepError;
  /** The end of a `sleep`, in milliseconds since the epoch. */
  wakeAt?: number;
  /** The end of the wait before the next attempt, in milliseconds since the epoch. */
  retryAt?: number;
  /** The event of the current attempt's call, or of the call that a person decides about. */
  call?: RecordedCall;
  /** The id for the event of the next tool call. */
  callEventId?: string;
  /** A person has approved the current attempt, possibly with edited arguments. */
  approved?: { arguments?: JsonObject };
  /** The output of the current attempt, while a person reviews it. */
  held?: { output: JsonValue; id: string };
  /** The child run started by the current attempt. */
  child?: RunningChild;
  /** For a block: its condition holds, and its steps may run. */
  begun?: true;
  /** For `branch`: the index of the chosen case; -1 for `else`. */
  taken?: number;
}

export interface RunningChild {
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** For an `ask` with tools: the number of characters of its prompt. */
  promptLength?: number;
  /** The last time when it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** Its share of the run's limits. Absent if the run shares no limit with it. */
  given?: LimitChanges;
}

export interface RecordedCall {
  callId: string;
  /** The id and the offset of its event. */
  eventId: string;
  offset: number;
}

/** The carried state of a program. The snapshot of the run has the document. */
export interface ContinuedProgram extends Pick<ProgramState, 'resume' | 'earlier' | 'unreported' | 'loadsFirst' | 'decided'> {
  input: JsonObject;
  units: [unit: string, UnitState][];
  steps: [address: string, StepState][];
}

/** Returns the state of a program that has not begun. */
export function newProgramState(document: ProgramDocument, input: JsonObject, resume?: Resume): ProgramState {
  return { document, input, units: new Map(), steps: new Map(), asksInFlight: 0, ...defined({ resume }) };
}

/** Converts the state of a program to its carried form. */
export function toContinuedProgram({ input, units, steps, ...others }: ProgramState): ContinuedProgram {
  const { resume, earlier, unreported, loadsFirst, decided } = others;
  const resuming = defined({ resume, earlier });
  return { input, units: [...units], steps: [...steps], ...resuming, ...defined({ unreported, loadsFirst, decided }) };
}

/** Restores the state of a program. */
export function fromContinuedProgram(document: ProgramDocument, carried: ContinuedProgram): ProgramState {
  const { input, units, steps, resume, earlier, unreported, loadsFirst, decided } = carried;
  const state = { ...newProgramState(document, input, resume), units: new Map(units), steps: new Map(steps) };
  return { ...state, ...defined({ earlier, unreported, loadsFirst, decided }) };
}

/** Names the step with the largest carried output, for a person who must make it smaller. */
export function tooLargeText({ steps }: Pick<ProgramState, 'steps'>): string {
  const sizes = [...steps].map(([at, { output = null, items = {}, progress }]) => {
    const held = progress?.held?.output;
    const isHeld = held !== undefined;
    return { at, isHeld, bytes: isHeld ? jsonBytes(held) : jsonBytes(output) + jsonBytes(items) };
  });
  const [largest] = sizes.toSorted((a, b) => b.bytes - a.bytes);
  if (largest === undefined) return 'Its input is too large';
  const { at, bytes, isHeld } = largest;
  const need = isHeld
    ? `The output of step "${at}" waits for its review, and has`
    : `Later steps refer to the output of step "${at}", which has`;
  return `${need} ${bytes} bytes: make it smaller`;
}

/** The contract between a program's run, its activities and clients. Plain JSON; see `src/core/protocol.ts`. */

const RESUME_MEMBERS = {
  /** The id of the earlier run. */
  run: s.boundedText({ minLength: 1 }),
  /** The first step that runs again, as `unit.step`: results of this step and later ones are not reused. */
  from: s.optional(s.TEXT),
};

/** An earlier run. A step's result is reused if its definition and inputs are equal. */
export interface Resume extends s.ObjectOf<typeof RESUME_MEMBERS> {}

const NAMED_UNIT = s.object({ name: s.TEXT, steps: s.ANY_LIST });

const INPUT_MEMBERS = {
  /**
   * The name of a worker's program, or a program as a document. The activity that pins a document checks it, and reports all its problems
   * at once.
   */
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
  /** Reuses the results of an earlier run. */
  resume: s.optional<Resume>(s.closedObject(RESUME_MEMBERS)),
  ...RUN_BOUNDS,
  ...RUN_ORIGIN,
  /** Tags to find the run in lists. */
  tags: OVERRIDES.tags,
  /** Whether deltas are published while models answer. */
  live: OVERRIDES.live,
  /** `batch`: model calls wait for the provider's batches. */
  tier: OVERRIDES.tier,
};

/** The input of a program's run, the same from every client. */
export interface ProgramInput
  extends s.ObjectOf<typeof RUN_DATA>, s.ObjectOf<typeof RUN_BOUNDS>, s.ObjectOf<typeof RUN_ORIGIN>, s.ObjectOf<typeof INPUT_MEMBERS> {}
export const PROGRAM_INPUT: s.Shape<ProgramInput> = s.closedObject(INPUT_MEMBERS);

/** Input of `readProgram`. */
export interface ReadProgramInput extends OfRun {
  /** The id of the earlier run. */
  runId: string;
}

/** Input of `resolveProgram`. A document is already in the history: the activity queries the run for it. */
export interface ResolveProgramInput extends OfRun, Pick<RunOverrides, 'tags' | 'live' | 'tier'> {
  /** The name of the program; absent for a document. */
  program?: string;
  limits?: LimitChanges;
  /** The remaining amounts of the parent's limits. */
  left?: LimitChanges;
  /** The step from which the run starts again, if it resumes an earlier one. */
  from?: string;
}

/** The part of an activity's input that identifies its step. */
interface OfStep extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  /** The address of the step. */
  step: string;
  /** The number of the attempt, from 2; absent for the first. */
  attempt?: number;
  /** The ids of the outputs that the step refers to, by the address of their step. Absent if there are none. */
  outputs?: Record<string, string>;
}

/** Input of `askStep`: a reference to the prompt, never the prompt. */
export interface AskStepInput extends OfStep {
  /** The id of the event of the previous failed attempt, which the prompt quotes. */
  failure?: string;
  /** A person has edited the prompt. */
  edited?: true;
  /** No batch answered the call, so it is made immediately. */
  unbatched?: true;
}

/**
 * Result of `askStep`: an answer with its checks, or the partial answer when the call was cancelled. It is kept short, because each step
 * stores one.
 */
export type AskStepOutput =
  | { response: BriefResponse; verdict?: AnswerVerdict; promptLength: number }
  | { type: 'aborted'; partial?: RecordedResponse }
  | BatchEnd;

/** Input of `useMemory`. */
export interface UseMemoryInput extends OfStep {
  /** The time of the step, in milliseconds since the epoch: the time of a stored entry. */
  now: number;
  /** A person has edited the stored value or the query. */
  edited?: true;
  /** The run has a principal, which the activity queries from the run. */
  principal?: true;
}

/** Result of `useMemory`. `id` is the id of the event. */
export interface UseMemoryOutput {
  id: string;
  output: JsonValue;
}

/** Input of `storeOutputs`: references to outputs, never the outputs themselves. */
export interface StoreOutputsInput extends OfRun {
  /** The ids of the outputs by address. A `forEach` address that ends in `.items` means the outputs of its items. */
  outputs: Record<string, string>;
}

/** Result of `storeOutputs`: the locations by address. */
export interface StoreOutputsOutput {
  stored: Record<string, SpilledContent>;
}

/** Input of `loadOutput`. */
export interface LoadOutputInput extends OfRun, StoredOutput {
  /** The index of the piece's first character, for later pieces of a long output. */
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

/** A response whose finish reason is omitted if it is `stop`. */
export type BriefResponse = Omit<RecordedResponse, 'finishReason'> & Partial<Pick<RecordedResponse, 'finishReason'>>;

/** Argument of the `stepValues` query. The activity requests only the parts that it lacks. */
export interface StepValuesQuestion {
  /** True: requests the input of the program, and its document if the run's input contains it. */
  program?: true;
  /** The addresses of the requested outputs, in order; the answer may end before the last. */
  outputs?: string[];
  /** The step whose last failure or edited prompt is requested. */
  step?: string;
  /** Requests a piece of an output that is too long for one answer. */
  piece?: { address: string; from: number };
}

/** Answer of the `stepValues` query. */
export interface StepValuesAnswer {
  program?: { input: JsonObject; document?: ProgramDocument };
  /** By address. At least one requested output in these three fields together, and as many as fit into a page. */
  outputs?: Record<string, JsonValue>;
  /** The locations of outputs that are only in the payload store, by address. */
  spilled?: Record<string, SpilledContent>;
  /** The addresses of outputs that are too long for one answer: they must be requested in pieces. */
  long?: string[];
  piece?: JsonPiece;
  /** The text of the previous attempt's failure. */
  failure?: string;
  /** The arguments as edited by a person. */
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
  /** The steps that have begun, in order. Steps of ended `forEach` items are not included. */
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
  /** Its output. Absent if the step failed, was skipped, or has its output stored elsewhere. */
  output?: JsonValue;
  /** True: the output is too large for the result. The record of events has it. */
  outputCut?: true;
  /** The text next to a structured output, or its beginning: the record of events has the whole text. */
  text?: string;
  /** The tokens of all attempts, and the number of their model calls. Absent if there were none. */
  usage?: AggregatedUsage;
  /** The number of attempts that have begun. */
  attempts: number;
  /** The attempts that failed or whose answers have violations, in order; the last ones if there are many. */
  attemptDetails?: AttemptDetails[];
  /** True: text and details are too large for the result. The record of events has them. */
  detailsCut?: true;
  /** True: the output was reused from an earlier run. */
  reused?: true;
  /** Why it failed. Absent unless it failed. */
  error?: StepError;
  /** Why it was skipped. Absent unless it was skipped. */
  reason?: string;
  /** Milliseconds from its start to its end, including all attempts. */
  durationMs?: number;
}

/** Returns the results of all units, in document order. */
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

/** Unit results that fit into a closing event. `unitsCut`: the last units were left out. */
interface FittingUnits {
  units: UnitResult[];
  unitsCut?: true;
}

/** The maximum bytes of a kept output, in the order in which they are tried. */
const OUTPUT_BYTES = [2_000, 500, 0];

/** The maximum bytes of an error message, if even errors must be cut. */
const MESSAGE_BYTES = 200;

/**
 * Returns the results of units in at most `bytes` of JSON. It leaves out, in this order: large outputs and details, the usage of steps, the
 * steps that did not fail, all steps, and finally the last units. The record of events has everything.
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
