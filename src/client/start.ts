import type { Client } from '@temporalio/client';
import { defined } from '../core/domain/defined.ts';
import { depsProblem } from '../core/domain/deps.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import { limitsWithDeadline, plainLimits } from '../core/domain/limits.ts';
import type { ProgramDocument } from '../core/domain/program-document.ts';
import { openingText, type RunOpening } from '../core/domain/run-input.ts';
import { claimsProblem } from '../core/domain/run.ts';
import { checkJson, problemsText } from '../core/json-schema/check-json-schema.ts';
import { checkProgram } from '../core/program/check/check-program.ts';
import { invalidProgram } from '../core/program/check/problems.ts';
import { AGENT_RUN, PROGRAM_RUN, type ProgramInput } from '../core/protocol.ts';
import { checkProgramInput } from '../core/input-checks.ts';
import type { AnyAgent, DepsOption } from '../define/agent-definition.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { type AnyProgram, type GivenInputOf, parseProgramInput, type ProgramOutputOf } from '../define/program/program-definition.ts';
import { AWAIT_OPTIONS } from './client-options.ts';
import { type EarlierOpening, readEarlier, withEarlier } from './saved-context.ts';
import {
  checkedTraceparent,
  type ClientSettings,
  type CommonStart,
  liveOf,
  plainState,
  runInput,
  START_SETTINGS,
  type StartSettings,
  startWorkflow,
  type WorkflowStart,
} from './start-workflow.ts';

/**
 * The options of a start: with the deps that its agent takes, which are optional if the agent's schema requires none. A start from
 * an earlier conversation has the deps of that one, and `deps` replaces members of them.
 */
export type StartOptions<GivenDeps = unknown> = NewStart<GivenDeps> | (StartSettings & EarlierOpening & { deps?: Partial<GivenDeps> });

/** The options of a start that begins a conversation. The deps come first: the compiler names what is missing in this order. */
type NewStart<GivenDeps = unknown> = DepsOption<GivenDeps> & RunOptions;

/** The options of a start without the deps. */
export type RunOptions = StartSettings & RunOpening;

/** All options by name: the compiler reports one that is added to the type and missing here. */
const START_OPTIONS: Record<keyof RunOptions | 'saved' | 'previousRunId' | 'deps', true> = {
  ...START_SETTINGS,
  input: true,
  messages: true,
  saved: true,
  previousRunId: true,
  deps: true,
};

/** The client's own settings that the start of a run uses. */
export interface RunSettings extends ClientSettings {
  /** Called with each notice for the person who starts the run. */
  onNotice?: (line: string) => void;
}

/** Starts the workflow of a run and returns its id. Throws, before anything is sent, for a run that cannot start, and a UsageError for unknown options and for messages that end with an answer. */
export async function startRun(
  client: Client,
  agent: AnyAgent | string,
  options: StartOptions,
  { onNotice, ...settings }: RunSettings = {},
): Promise<string> {
  requireKnown('the start', options, { ...START_OPTIONS, ...AWAIT_OPTIONS });
  const { principal } = options;
  const earlier = await readEarlier(client, { ...options }, { agent: typeof agent === 'string' ? agent : agent.name, principal });
  const { steps } = earlier ?? {};
  const limits = steps === undefined ? {} : { limits: { steps, ...options.limits } };
  const input = runInput(agent, { ...withEarlier(options, earlier), ...limits });
  for (const notice of earlier?.notices ?? []) onNotice?.(notice);
  const start: WorkflowStart = { type: AGENT_RUN, name: input.agent, input, summary: `${input.agent}: ${openingText(input)}` };
  return startWorkflow(client, start, options, settings);
}

/** A program to start: its definition, its document, or the name under which a worker has it. */
export type StartedProgram = AnyProgram | ProgramDocument | string;

/** The type of the input that a program takes: any object if it is not known by its definition. */
export type StartedInputOf<Program> = Program extends AnyProgram ? GivenInputOf<Program> : JsonObject;

/** The type of a program's output. */
export type StartedOutputOf<Program> = Program extends AnyProgram ? ProgramOutputOf<Program> : JsonValue;

/** The options of the start of a program. */
export interface ProgramOptions<Input = JsonObject> extends CommonStart {
  /** The input of the program, as its schema has it. Defaults of a zod schema are filled in before it is sent. */
  input?: Input;
  /** Data of the run for its tools. */
  deps?: JsonObject;
  /**
   * Takes over the results of an earlier run of the same or an edited program: of each step whose definition and inputs are
   * equal, and that comes before `from` (`unit.step`), if that is given. They cost nothing, and nothing in them is asked again. Both
   * runs must act for the same principal.
   */
  resume?: { run: string; from?: string };
}

const { model: _model, settings: _settings, ...COMMON_OPTIONS } = START_SETTINGS;
const OPTIONS: OptionTable<ProgramOptions> = { ...COMMON_OPTIONS, input: true, deps: true, resume: true };

/**
 * Starts the workflow of a program's run and returns its id. Throws, before anything is sent, `invalid_program` with all
 * problems of a document, `invalid_input` for an input that does not fit its schema, and `run_not_found` for `resume` of the run
 * of another principal. A program of the worker goes by its name.
 */
export async function startProgram(
  client: Client,
  program: StartedProgram,
  options: ProgramOptions,
  settings: ClientSettings = {},
): Promise<string> {
  requireKnown('the start', options, { ...OPTIONS, ...AWAIT_OPTIONS });
  const input = programInput(program, options);
  const name = nameOf(input.program);
  // The activity that reads the earlier run checks this for every caller: the client can say so before anything is started.
  if (input.resume !== undefined) await settings.access?.require(input.resume.run);
  return startWorkflow(client, { type: PROGRAM_RUN, name, input, summary: name }, options, settings);
}

/** Returns the input of a program's run as plain JSON. */
export function programInput(program: StartedProgram, options: ProgramOptions): ProgramInput {
  const owner = `program "${nameOf(program)}" cannot start`;
  const limits = plainLimits(owner, limitsWithDeadline(owner, options) ?? {});
  const { deps, state, principal, tags, live, traceparent, resume } = options;
  const problem = (deps === undefined ? undefined : depsProblem(deps)) ?? claimsProblem(principal);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  if (typeof program !== 'string') requireChecked(program);
  const input = isDefinition(program) ? parseProgramInput(program, options.input) : options.input;
  if (typeof program !== 'string') requireFits(program, input ?? {});
  const plain: unknown = JSON.parse(
    JSON.stringify({
      program: isDefinition(program) ? program.name : program,
      ...defined({ input, deps }),
      ...(state === undefined ? {} : { state: plainState(state) }),
      ...defined({ principal }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(tags === undefined ? {} : { tags: [...tags] }),
      live: liveOf(live),
      ...defined({ traceparent: checkedTraceparent(traceparent) }),
      ...defined({ resume }),
    }),
  );
  const checked = checkProgramInput(plain);
  if (!checked.ok) throw new LonghaulError(checked.code, `The run cannot start: ${checked.problem}`);
  return checked.input;
}

/** Throws for a document with problems. */
function requireChecked(program: Exclude<StartedProgram, string>): void {
  const { document, problems } = checkProgram(documentOf(program));
  if (document === undefined) throw invalidProgram(nameOf(program), problems);
}

/** Throws for an input that does not fit. */
function requireFits(program: Exclude<StartedProgram, string>, input: JsonObject): void {
  const { input: schema } = documentOf(program);
  const problems = schema === undefined ? [] : checkJson(schema, input);
  if (problems.length === 0) return;
  throw new LonghaulError('invalid_input', `The input of program "${nameOf(program)}" does not fit: ${problemsText(problems)}`);
}

function documentOf(program: Exclude<StartedProgram, string>): ProgramDocument {
  return isDefinition(program) ? program.toJSON() : program;
}

function isDefinition(program: StartedProgram): program is AnyProgram {
  return isJsonObject(program) && 'kind' in program;
}

function nameOf(program: StartedProgram): string {
  return typeof program === 'string' ? program : program.name;
}
