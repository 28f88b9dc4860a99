import type { Tier } from './batch.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { LimitOptions } from './limits.ts';
import type { QuietHoursOptions } from './quiet-hours.ts';
import type { ReasoningEffort } from './reasoning-effort.ts';
import * as s from './shape.ts';
import type { Duration } from './time.ts';

/**
 * A program as plain JSON: units of steps that one run executes. Texts and values may contain references such as `{{input.ticket}}`,
 * `{{Step.output.items[0]}}` and `{{unit.Step}}` in prompts, questions, arguments, deps, inputs, the data of memory steps, and the output.
 * Names, models and scopes cannot contain references.
 */
export interface ProgramDocument {
  /** The version of the program form: 1. */
  version: 1;
  /** The name of the program, used to start it. */
  name: string;
  /** The default model of its `ask` steps: `provider/model`. */
  model?: string;
  /** The JSON Schema of the input. Absent: any object. */
  input?: JsonObject;
  /** Its units. They run in this order, unless `needs` of a unit says otherwise. */
  units: UnitDocument[];
  /** The output of the program, with references. Absent: the output of the last step of the last unit. */
  output?: JsonValue;
  /** The limits of the whole run. `steps` counts model calls, including those of the runs that its steps start. */
  limits?: LimitOptions;
  /** `ask`: at a limit, a person is asked to raise it. Default `stop`: the run ends. */
  onLimit?: 'stop' | 'ask';
  /** The hours during which calls of communicating tools wait, in its steps and in the runs that they start. */
  quietHours?: QuietHoursOptions;
  /**
   * True: as in AXON, unknown references stay as written, unknown anchors are ignored, a step with an unknown tool fails when it is
   * reached, and a step whose fallback is not a step is skipped after its attempts. An answer without the declared form is accepted
   * unchanged: only the validator judges it, and only if the step declares a form or a type. A failed `ask` reports that its attempts are
   * used up.
   */
  lenient?: boolean;
}

/** A unit: steps with one persona, run in order. */
export interface UnitDocument {
  /** The name of the unit in references and results. */
  name: string;
  /**
   * The persona, the context and the instructions form the beginning of the system prompt of each `ask` in the unit. They can refer to the
   * input, and to units that have ended when this one begins.
   */
  persona?: string;
  /** Facts that its steps' models need. Part of the system prompt, after the persona. */
  context?: string;
  /** How its steps' models must answer. Part of the system prompt, after the context. */
  instructions?: string | string[];
  /** Names of anchors: checks of each model answer in this unit. */
  anchors?: string[];
  /** How much its steps' models think before they answer. */
  effort?: ReasoningEffort;
  /** Names of the units that must end before this one begins. Absent in all units: the units run in order. */
  needs?: string[];
  /** The unit is skipped unless the condition holds. */
  when?: ConditionDocument;
  /** Its steps, in order. */
  steps: StepDocument[];
}

/** A condition: the value of a reference fits a JSON Schema. Schemas with `pattern` are refused. */
export interface ConditionDocument {
  /** A reference such as `Kind.score` or `sort.Kind.kind`, with or without braces. If it leads to no value, the condition does not hold. */
  of: string;
  /** The JSON Schema that the value must fit. */
  is: JsonObject;
}

/** The kinds of steps. Each step has exactly one of these keys. */
export interface StepKinds {
  /** Asks a model. */
  ask: AskDocument;
  /** Calls a tool. */
  tool: ToolStepDocument;
  /** Runs an agent as a child. */
  agent: AgentStepDocument;
  /** Runs another program as a child. */
  program: ProgramStepDocument;
  /** Asks a person. */
  human: HumanDocument;
  /** Waits for a time. */
  sleep: SleepDocument;
  /** Writes an entry of the memory. */
  remember: RememberDocument;
  /** Looks up entries in the memory. */
  recall: RecallDocument;
  /** Runs several lists of steps in parallel. */
  parallel: ParallelDocument;
  /** Runs the steps of the first case whose condition holds. */
  branch: BranchDocument;
  /** Runs steps for each item of a list. */
  forEach: ForEachDocument;
  /** Runs steps until a condition holds. */
  repeat: RepeatDocument;
}

/** A kind of step of a program. */
export type StepKind = keyof StepKinds;

/** A step: its name, its kind, and the handling of its failures and its output. */
export type StepDocument = StepOptions &
  { [Kind in StepKind]: { [Key in Kind]: StepKinds[Kind] } & { [Key in Exclude<StepKind, Kind>]?: never } }[StepKind];

/** The part of a step that does not depend on its kind. */
export interface StepOptions {
  /** Unique in its unit. */
  name: string;
  /** The step is skipped unless the condition holds. */
  when?: ConditionDocument;
  /** Further attempts after a failed one. Absent: one attempt. Not for blocks. */
  refine?: RefineDocument;
  /** The maximum time of one attempt, not counting the wait for people. Not for blocks. */
  timeout?: Duration;
  /** A person approves the step before it costs anything, and may edit its prompt or arguments. Not for blocks. */
  approval?: true | StepDeadlineDocument;
  /** A person reviews the output: accepts it, edits it, or rejects it, which counts as a failed attempt. Not for blocks. */
  review?: true | StepDeadlineDocument;
}

/** The time for which a step waits for a person, and the decision that is applied then. */
export interface StepDeadlineDocument {
  /** How long a person may take. Absent: until the run's deadline, if it has one. */
  deadline?: Duration;
  /** Default `reject`. */
  onDeadline?: 'approve' | 'reject';
}

/** The attempts of a step (AXON's refine block). */
export interface RefineDocument {
  /** The maximum number of attempts, including the first. Default 3. */
  maxAttempts?: number;
  /** The wait after attempt n: none; n seconds; 0.5 * 2^n seconds; at most 30 seconds. Default `none`. */
  backoff?: 'none' | 'linear' | 'exponential';
  /** False: an attempt is not told why the previous one failed. Default true. */
  passFailureContext?: boolean;
  /**
   * What happens after the last attempt: the step fails (default), is skipped, or takes the output of the step `fallback`, which runs now
   * if it has not run yet.
   */
  onExhaustion?: 'fail' | 'skip' | 'fallback';
  /** The name of a step in the same block, for `onExhaustion: 'fallback'`. */
  fallback?: string;
}

/**
 * One model call, or, with `tools`, a separate run of a model that uses them. The output is the text of the answer, or the value that fits
 * `output`.
 */
export interface AskDocument {
  /** The question to the model. `{{…}}` are references. */
  prompt: string;
  /** Default: the model of the program. */
  model?: string;
  /** The JSON Schema of the answer. */
  output?: JsonObject;
  /** The type that the answer must declare or have: a semantic type of AXON, or your own. */
  type?: string;
  /**
   * The minimum of the confidence that the answer declares in `confidence`. If it declares none, the confidence that the model client
   * reports counts; without either, the answer passes.
   */
  confidenceFloor?: number;
  /** Fields that the answer must have. */
  requiredFields?: string[];
  /** The bounds of the number in the answer, both inclusive. */
  range?: { min?: number; max?: number };
  /** Names of anchors, in addition to the unit's. */
  anchors?: string[];
  /** Default: the effort of the unit. */
  effort?: ReasoningEffort;
  /** Settings of the model call. */
  settings?: JsonObject;
  /** `batch`: the call waits for a batch of its provider. Default: the tier of the run. */
  tier?: Tier;
  /** Names of worker tools that the model may call, any number of times, before it answers. */
  tools?: string[];
  /** With `tools`: the limits of one attempt. `steps` counts its model calls (default 10). */
  limits?: LimitOptions;
}

/** One call of a tool. Its output is the tool's return value. */
export interface ToolStepDocument {
  /** The name of the tool. */
  name: string;
  /** The arguments. Texts may have references. */
  arguments?: JsonObject;
}

/** One run of an agent. Its output is the agent's. */
export interface AgentStepDocument {
  /** The name of the agent. */
  name: string;
  /** The first message to the agent. Texts may have references. */
  input: string;
  /** The deps of its run. */
  deps?: JsonObject;
  /** Limits of its run. */
  limits?: LimitOptions;
}

/** One run of another program. Its output is the program's. */
export interface ProgramStepDocument {
  /** The name of the program. */
  name: string;
  /** Its input. Texts may have references. */
  input?: JsonObject;
  /** Limits of its run. */
  limits?: LimitOptions;
}

/** A question to a person. Its output is the answer. */
export interface HumanDocument extends Omit<StepDeadlineDocument, 'onDeadline'> {
  /** Default `reject`, which fails the step: a deadline has no answer. */
  onDeadline?: 'reject';
  /** The question to the person. `{{…}}` are references. */
  question: string;
  /** The JSON Schema of the answer. Default: a text. */
  output?: JsonObject;
}

/** A wait. Its output is null. */
export interface SleepDocument {
  /** A duration, or a reference to one. */
  for: Duration;
}

/** Stores a value in the memory. Its output is the key. */
export interface RememberDocument {
  /** The key of the entry. It replaces an earlier entry with the same key. */
  key: string;
  /** The remembered value. */
  value: JsonValue;
  /** Facts that `recall` can filter by. */
  metadata?: JsonObject;
  /** Default: the name of the program. */
  scope?: string;
}

/** Looks up values in the memory. Its output is the list of entries, best first. */
export interface RecallDocument {
  /** The search text. `{{…}}` are references. */
  query: string;
  /** Default 5. */
  topK?: number;
  /** The lowest score of an entry, from 0 to 1. Default 0.4: only entries that contain the query. */
  minScore?: number;
  /** Default: the name of the program. */
  scope?: string;
}

/** Lists of steps that run in parallel. Its output is the list of the outputs of their last steps. */
export interface ParallelDocument {
  /** The lists of steps that run in parallel. The steps of each list run in order. */
  branches: StepDocument[][];
}

/** Runs the first case whose condition holds. Its output is the output of the case's last step, or null if no condition holds. */
export interface BranchDocument {
  /** The cases: only the steps of the first one whose condition holds run. */
  cases: { when: ConditionDocument; steps: StepDocument[] }[];
  /** The steps that run if no condition holds. Absent: none, and the output is null. */
  else?: StepDocument[];
}

/** Runs steps for each item of a list. Its output is the list of the last steps' outputs, in item order. */
export interface ForEachDocument {
  /** A reference to the list, such as `{{Find.documents}}`. The braces are optional. */
  in: string;
  /** The name of the item in references. Default `item`. */
  as?: string;
  /** The number of items that run at the same time. Default 8, at most 100. */
  atOnce?: number;
  /** The steps that run for each item. */
  steps: StepDocument[];
}

/** Repeats steps until the condition holds. Its output is the output of the last round's last step. */
export interface RepeatDocument {
  /** The condition that ends the loop, checked after each round. */
  until: ConditionDocument;
  /** The maximum number of rounds. The step ends after them even if the condition does not hold. */
  atMost: number;
  /** The steps of each round. */
  steps: StepDocument[];
}

/** The kinds of steps that contain other steps. */
export const BLOCKS = ['parallel', 'branch', 'forEach', 'repeat'] as const satisfies readonly StepKind[];

/** All kinds of steps by name. The compiler reports a missing one. */
const KINDS: Record<StepKind, true> = {
  ask: true,
  tool: true,
  agent: true,
  program: true,
  human: true,
  sleep: true,
  remember: true,
  recall: true,
  parallel: true,
  branch: true,
  forEach: true,
  repeat: true,
};

/** The names of all kinds of steps. */
export const STEP_KINDS = Object.keys(KINDS) as StepKind[];

/** Returns the kind of a step that has been checked. */
export function kindOf(step: StepDocument): StepKind {
  return STEP_KINDS.find((kind) => kind in step) ?? 'ask';
}

/** True for a step that contains other steps. */
export function isBlock(step: StepDocument): boolean {
  return BLOCKS.some((kind) => kind in step);
}

/**
 * The limits of a document. `levels` is the nesting of blocks; `jsonLevels` the nesting of lists and objects, which is more than the
 * deepest blocks need.
 */
export const PROGRAM_LIMITS = {
  bytes: 400_000,
  steps: 1_000,
  levels: 16,
  jsonLevels: 112,
  items: 10_000,
  atOnce: 100,
  defaultAtOnce: 8,
} as const;

/** The default maximum number of model calls of a program. */
export const DEFAULT_MODEL_CALLS = 10_000;

const NAME = s.boundedText({ minLength: 1, maxLength: 1_000 });

/** The fields that check an answer. */
export const ANSWER_RULES = {
  /** The name of the step. */
  step: NAME,
  /** The names of the anchors. */
  anchors: s.optional(s.listOf(NAME)),
  /** The required type of the answer. */
  type: s.optional(s.TEXT),
  /** The minimum confidence, from 0 to 1. */
  confidenceFloor: s.optional(s.NUMBER),
  /** Members that the answer must have. */
  requiredFields: s.optional(s.listOf(s.TEXT)),
  /** The minimum and maximum of a numeric answer. */
  range: s.optional(s.closedObject({ min: s.optional(s.NUMBER), max: s.optional(s.NUMBER) })),
  /** The program is lenient: unknown anchors are ignored, and an answer without the declared form is accepted unchanged. */
  lenient: s.optional(s.TRUE),
};

/** The checks of a step's answer, in addition to its form. */
export interface AnswerRules extends s.ObjectOf<typeof ANSWER_RULES> {}

interface StepOfUnit {
  unit: UnitDocument;
  step: StepDocument;
}

/** Lists all steps of a program, including those inside blocks. */
export function allSteps({ units }: ProgramDocument): StepOfUnit[] {
  const within = (unit: UnitDocument, steps: readonly StepDocument[]): StepOfUnit[] =>
    steps.flatMap((step) => [{ unit, step }, ...(isBlock(step) ? nestedLists(step).flatMap((list) => within(unit, list)) : [])]);
  return units.flatMap((unit) => within(unit, unit.steps));
}

/** Returns the models that a program names: `provider/model`. */
export function modelsOf(program: ProgramDocument): string[] {
  const models = allSteps(program).flatMap(({ step }) => (step.ask === undefined ? [] : [step.ask.model ?? program.model ?? '']));
  return [...new Set(models)];
}

/** Returns the lists of steps inside a block, in document order, or none for another step. */
export function nestedLists(step: StepDocument): StepDocument[][] {
  if (step.parallel !== undefined) return step.parallel.branches;
  if (step.branch !== undefined)
    return [...step.branch.cases.map(({ steps }) => steps), ...(step.branch.else === undefined ? [] : [step.branch.else])];
  if (step.forEach !== undefined) return [step.forEach.steps];
  return step.repeat === undefined ? [] : [step.repeat.steps];
}
