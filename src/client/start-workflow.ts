import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { type InternalWorkflowStartOptions, InternalWorkflowStartOptionsSymbol } from '@temporalio/client/lib/internal.js';
import { type SearchAttributePair, TypedSearchAttributes, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import type { ModelSettings } from '../core/domain/agent.ts';
import type { Tier } from '../core/domain/batch.ts';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { defined, isJsonObject, isTooDeep, type JsonObject, type JsonValue, MAX_CHECKED_DEPTH } from '../core/domain/json.ts';
import { depsProblem, startStateProblem } from '../core/domain/deps.ts';
import { errorMessage, LonghaulError, memberOf, UsageError } from '../core/domain/errors.ts';
import { type LimitOptions, limitsWithDeadline, plainLimits } from '../core/domain/limits.ts';
import type { ModelName } from '../core/domain/model.ts';
import {
  openingText,
  priorityFrom,
  priorityProblem,
  readTraceparent,
  type RunOpening,
  type RunOverrides,
  type SessionInput,
  type TaskPriority,
} from '../core/domain/run-input.ts';
import { givenPrincipalProblem, type Principal } from '../core/domain/run.ts';
import { summaryText } from '../core/domain/text.ts';
import type { Duration } from '../core/domain/time.ts';
import {
  AGENT_RUN,
  DEFAULT_TASK_QUEUE,
  PROGRAM_RUN,
  type ProgramInput,
  RESULT_MEMO,
  type RunInput,
  SEARCH_ATTRIBUTES,
  TITLE_MEMO,
} from '../core/protocol.ts';
import { checkProgramInput, checkRunInput } from '../core/input-checks.ts';
import { type AnyAgent, type DepsOption, parseDeps } from '../define/agent-definition.ts';
import { checkOverrides, withOverrides } from '../define/model-settings.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { checkedTier } from '../define/tier.ts';
import { checkNewRunId, findExecution } from '../temporal/run-workflow.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import { AWAIT_OPTIONS, checkIfExists, type IfExists } from './client-options.ts';
import { reaches, requireSameRun } from './existing-run.ts';
import type { RunAccess } from './run-access.ts';
import { agentAttribute, principalAttributes, requireRun } from './visibility.ts';
import type { ProgramDocument } from '../core/domain/program-document.ts';
import { checkJson, problemsText } from '../core/json-schema/check-json-schema.ts';
import { fromProblem } from '../core/program/check/check-from.ts';
import { checkProgram } from '../core/program/check/check-program.ts';
import { invalidProgram } from '../core/program/check/problems.ts';
import { type AnyProgram, type GivenInputOf, parseProgramInput, type ProgramOutputOf } from '../define/program/program-definition.ts';
import { type EarlierOpening, readEarlier, withEarlier } from './saved-context.ts';

/** The options of every workflow start. */
interface WorkflowOptions extends StartCircumstances {
  /** The id of the run. If you choose it, a repeated start makes one run. Default: the agent's name and a UUID. */
  runId?: string;
  /**
   * What happens if the run id is taken: `fail` throws `run_exists` (default), `return` returns the existing run, and
   * `restartFailed` starts it again if it ended with status `error`, was terminated or timed out, and otherwise returns the
   * existing run. A run of another agent or program, and a session, are refused with `run_exists` in any case. If several callers do so
   * at once, it is started once.
   */
  ifExists?: IfExists;
  /** The task queue of the workers that have the definition. Default: the client's task queue. */
  taskQueue?: string;
}

/** The options that starts of agents and of programs share. */
interface CommonStart extends WorkflowOptions {
  /** The state that the run begins with: JSON that tools read and change, at most 150,000 bytes. Secrets are refused, as in deps. */
  state?: JsonObject;
  /**
   * The identity on whose behalf the run and its children act: `{tenant, user, claims}`, at most 8,000 bytes of JSON. Fixed for the run,
   * and read-only for tools.
   */
  principal?: Principal;
  /** Overrides individual limits of the agent or the program: `{steps: 30, totalTokens: 90_000, deadline: '2h'}`. */
  limits?: LimitOptions;
  /** The longest duration of the run, from its start: the limit `deadline`. */
  deadline?: Duration;
  /** Up to 20 words of up to 100 characters, in clear text. `list({tag})` finds runs by tag, and a provider may choose its key by tag. */
  tags?: readonly string[];
  /**
   * True: lets live output of the run and its children travel in heartbeats, for a worker and a client with `heartbeatStreams()`. Each
   * heartbeat is a call to the server.
   */
  live?: boolean;
  /** The caller's span as W3C Trace Context (`00-<trace id>-<span id>-01`): the parent of the run's spans. Stored once. */
  traceparent?: string;
  /**
   * `batch`: the model calls of the run and its children wait for batches of the provider, at half the price; the worker needs `batch`.
   * Default: the agent's tier, or `interactive`.
   */
  tier?: Tier;
}

/** The options of starting an agent, without its deps and conversation. */
export interface StartSettings extends CommonStart {
  /** Replaces the agent's model for this run: `provider/model`, with a provider of the worker. */
  model?: ModelName;
  /** Model settings that override the agent's, one by one (`extra` as a whole). At most 16,000 bytes of JSON. */
  settings?: ModelSettings;
}

/** The options that sessions share with starts. */
export type SessionStart = Omit<StartSettings, 'runId' | 'ifExists' | 'limits' | 'deadline'>;

/** All options by name: the compiler reports one that is added to the type and missing here. */
export const SESSION_START_OPTIONS: OptionTable<SessionStart> = {
  state: true,
  principal: true,
  model: true,
  settings: true,
  tags: true,
  live: true,
  traceparent: true,
  tier: true,
  taskQueue: true,
  searchAttributes: true,
  memo: true,
  priority: true,
  fairnessKey: true,
};

/** All options of `StartSettings` by name. */
const START_SETTINGS: OptionTable<StartSettings> = {
  ...SESSION_START_OPTIONS,
  runId: true,
  ifExists: true,
  limits: true,
  deadline: true,
};

/** The type of the workflow, for the Temporal Client. */
type RunWorkflow = (input: RunInput | ProgramInput) => Promise<unknown>;

/** The client's settings that a start uses. */
export interface ClientSettings {
  taskQueue?: string | undefined;
  /** The key that hashes users in search attributes. */
  userKey?: string | undefined;
  /** The client's access to runs. Default: all runs. */
  access?: RunAccess;
  /** Called with each notice for the person who starts the run. */
  onNotice?: (line: string) => void;
}

interface WorkflowStart {
  type: typeof AGENT_RUN | typeof PROGRAM_RUN;
  /** The name of the agent or the program. */
  name: string;
  input: RunInput | ProgramInput;
  summary: string;
}

/** Starts the workflow of a run and returns its id. Throws `run_exists`, unless `ifExists` says otherwise. */
async function startWorkflow(
  client: Client,
  { type, name, input, summary }: WorkflowStart,
  options: WorkflowOptions,
  settings: ClientSettings = {},
): Promise<string> {
  const ifExists = checkIfExists(options.ifExists);
  const runId = checkNewRunId(options.runId === undefined ? `${name}-${randomUUID()}` : options.runId);
  const workflow: WorkflowStartOptions<RunWorkflow> = {
    ...workflowOptions(input, { ...options, summary }, settings.taskQueue),
    workflowId: runId,
    workflowIdConflictPolicy: 'FAIL',
  };
  const published = [agentAttribute(name), ...principalAttributes(input.principal ?? {}, settings.userKey)];
  const begun: WorkflowBeginning = { client, type, workflow, published, onNotice: settings.onNotice };
  const isStarted = await beginWorkflow(begun, options);
  if (isStarted) return runId;
  // An id taken by another principal is also refused: a client that acts for a principal gets only runs of that principal.
  if (ifExists === 'fail' || !(await reaches(settings.access, runId))) {
    throw new LonghaulError(
      'run_exists',
      `Run "${runId}" exists already: choose another run id, or set "ifExists" (--if-exists): "return" gets that run, and "restartFailed" starts it again if it has failed`,
    );
  }
  await requireSameRun(client, runId, { type, name });
  if (ifExists === 'restartFailed') await restartFailed(begun, options);
  return runId;
}

/** Returns the workflow options of a run, without its id. */
export function workflowOptions<Input>(
  input: Input,
  { summary, ...options }: WorkflowOptions & Pick<WorkflowStart, 'summary'>,
  defaultTaskQueue?: string,
): { args: [Input]; taskQueue: string; workflowIdReusePolicy: 'REJECT_DUPLICATE'; staticSummary: string } & ReturnType<
  typeof serverOptionsOf
> {
  return {
    taskQueue: options.taskQueue ?? defaultTaskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    ...serverOptionsOf(options),
    staticSummary: summaryText(summary),
  };
}

/** A workflow that is about to be started. */
interface WorkflowBeginning {
  client: Client;
  type: WorkflowStart['type'];
  workflow: WorkflowStartOptions<RunWorkflow>;
  /** The search attributes of the run, dropped if the namespace lacks them. */
  published: SearchAttributePair[];
  onNotice: ClientSettings['onNotice'];
}

/** Starts the workflow. Returns false if the server has one with this id. */
async function beginWorkflow(
  { client, type, workflow, published, onNotice }: WorkflowBeginning,
  options: WorkflowOptions,
): Promise<boolean> {
  try {
    const { typedSearchAttributes, ...others } = workflow;
    const own = typedSearchAttributes instanceof TypedSearchAttributes ? typedSearchAttributes : undefined;
    const begin = (attributes: SearchAttributePair[]): Promise<unknown> =>
      client.workflow.start<RunWorkflow>(type, { ...others, ...mergedAttributes(own, attributes) });
    await withPublishedAttributes(client, published, begin, onNotice);
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw attributeProblem(error, options) ?? error;
  }
}

/**
 * Starts the workflow of a failed run again. The server starts one per request id: callers that saw the same failure
 * make the same request, even if the new run has ended meanwhile.
 */
async function restartFailed(begun: WorkflowBeginning, options: WorkflowOptions): Promise<void> {
  const { client, workflow } = begun;
  const executionId = await failedExecution(client, workflow.workflowId);
  if (executionId === undefined) return;
  const restart: WorkflowStartOptions<RunWorkflow> & InternalWorkflowStartOptions = {
    ...workflow,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    [InternalWorkflowStartOptionsSymbol]: { requestId: `restart ${executionId}` },
  };
  await beginWorkflow({ ...begun, workflow: restart }, options);
}

/** Temporal's statuses of a workflow that ended without doing its work. */
const FAILED = new Set(['FAILED', 'TERMINATED', 'TIMED_OUT']);

/**
 * Returns the id of the newest execution of a failed run; undefined if the run is still running, ended in another way, or was deleted
 * meanwhile. Throws `not_a_run` for a workflow of the user's own.
 */
async function failedExecution(client: Client, runId: string): Promise<string | undefined> {
  const newest = await findExecution(client, runId);
  if (newest === undefined) return undefined;
  requireRun(client, runId, newest.type);
  return FAILED.has(newest.status.name) ? newest.runId : undefined;
}

/** Returns the error for search attributes that the namespace lacks or has with another type. */
function attributeProblem(error: unknown, { searchAttributes }: WorkflowOptions): LonghaulError | undefined {
  const cause = memberOf(error, 'cause') ?? error;
  if (searchAttributes === undefined || grpcCode(cause) !== GRPC.invalidArgument) return undefined;
  return new LonghaulError(
    'invalid_input',
    `The run cannot start: the server refuses it (${errorMessage(memberOf(cause, 'details') ?? cause)}). The namespace must have every name in "searchAttributes", with its type: temporal operator search-attribute create --name … --type …`,
    { cause: error },
  );
}

/** The options of a start that are part of the run's input. */
type RunInputOptions = Partial<RunOpening> &
  Omit<StartSettings, 'state'> & {
    /** Present if the run is a session. */
    session?: SessionInput;
    deps?: unknown;
    state?: unknown;
  };

/**
 * Returns the input of a run as it is sent. Throws `invalid_input` and `payload_too_large` for invalid input, and
 * a UsageError for messages that end with an answer and have no input after them.
 */
export function runInput(agent: AnyAgent | string, options: RunInputOptions): RunInput {
  const { input, messages, deps, state, principal, session, model, settings, tags, live, tier, traceparent } = options;
  const withDeadline = limitsWithDeadline('the run cannot start', options);
  const limits = plainLimits('the run cannot start', withDeadline ?? {});
  // Without deps, an empty object is checked against the agent's schema, which may require some.
  if (deps === undefined && typeof agent !== 'string') parseDeps(agent, {});
  const inClaims = givenPrincipalProblem(principal);
  if (inClaims !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${inClaims}`);
  // Converted to JSON and back, as they are sent.
  const overrides = JSON.parse(JSON.stringify({ model, settings, tags, live: liveOf(live), tier: tierOf(tier) })) as RunOverrides;
  requireUsable(agent, overrides);
  const checked = checkRunInput(
    stripUndefined({
      agent: typeof agent === 'string' ? agent : agent.name,
      messages,
      input,
      deps: deps === undefined ? undefined : plainDeps(agent, deps),
      state: state === undefined ? undefined : plainState(state),
      principal: principal === undefined ? undefined : (JSON.parse(JSON.stringify(principal)) as unknown),
      session: session === undefined ? undefined : stripUndefined({ ...session }),
      limits: Object.keys(limits).length === 0 ? undefined : limits,
      traceparent: checkedTraceparent(traceparent),
      ...overrides,
    }),
  );
  if (checked.ok) return checked.input;
  const message = `The run cannot start: ${checked.problem}`;
  throw checked.lacksInput ? new UsageError(message) : new LonghaulError(checked.code, message);
}

/** Throws `invalid_input` for an invalid trace parent. */
function checkedTraceparent(traceparent: string | undefined): string | undefined {
  if (traceparent === undefined || readTraceparent(traceparent) !== undefined) return traceparent;
  const message = `The run cannot start: "traceparent" is ${JSON.stringify(traceparent)}: write "00-<trace id>-<span id>-01", or leave it out`;
  throw new LonghaulError('invalid_input', message);
}

/** Throws if the agent, as far as it is known, cannot work with this model and these settings. */
function requireUsable(agent: AnyAgent | string, overrides: RunOverrides): void {
  try {
    if (typeof agent === 'string') checkOverrides(agent, overrides);
    else withOverrides(agent, overrides);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The run cannot start: ${errorMessage(error)}`);
  }
}

/** Returns the deps as plain JSON without secrets. If the agent is known, they fit its schema. */
function plainDeps(agent: AnyAgent | string, deps: unknown): JsonObject {
  const problem = depsProblem(deps);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  if (typeof agent !== 'string') parseDeps(agent, deps);
  const plain: unknown = JSON.parse(JSON.stringify(deps) ?? 'null');
  if (isJsonObject(plain)) return plain;
  throw new LonghaulError('invalid_input', 'deps: expected an object of JSON values');
}

/** Returns the initial state of a run as plain JSON without secrets. */
function plainState(state: unknown): JsonObject {
  const problem = startStateProblem(state);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}

/** Returns the tier. Throws a UsageError if it is invalid. */
function tierOf(tier: Tier | undefined): Tier | undefined {
  return tier === undefined ? undefined : checkedTier('the run cannot start: "tier"', tier);
}

/** Returns the flag as it is sent: only if it is set. */
function liveOf(live: boolean | undefined): boolean | undefined {
  return live === false ? undefined : live;
}

function stripUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The options of a start that are for the server, not part of the run's input. */
export interface StartCircumstances {
  /** Your search attributes, which the namespace must have: `[{ key: defineSearchAttributeKey('Tenant', 'KEYWORD'), value: 'acme' }]`. */
  searchAttributes?: SearchAttributePair[] | TypedSearchAttributes;
  /** Data to show when the run is listed or described. At most 32,000 bytes of JSON. */
  memo?: JsonObject;
  /** The priority of the run's tasks in a backlog: 1 and up, lower numbers first, default 3. Servers without priorities ignore it. */
  priority?: number;
  /** Each fairness key, for example a tenant, gets an equal share of a backlog. At most 64 bytes. Servers without fairness ignore it. */
  fairnessKey?: string;
}

/** The largest memo in bytes of JSON: every execution of the run carries it. */
const MEMO_BYTES = 32_000;

/** Returns the workflow options. Throws `invalid_input` and `payload_too_large` for invalid values. */
function serverOptionsOf({ searchAttributes, memo, priority, fairnessKey }: StartCircumstances): {
  typedSearchAttributes?: TypedSearchAttributes;
  memo?: JsonObject;
  priority?: TaskPriority;
} {
  const problem = priorityProblem(priority, fairnessKey);
  if (problem !== undefined) throw invalidStart(problem);
  const taskPriority = priorityFrom(priority, fairnessKey);
  return {
    ...(searchAttributes === undefined ? {} : { typedSearchAttributes: ownAttributes(searchAttributes) }),
    ...(memo === undefined ? {} : { memo: ownMemo(memo) }),
    ...defined({ priority: taskPriority }),
  };
}

function ownAttributes(option: SearchAttributePair[] | TypedSearchAttributes): TypedSearchAttributes {
  if (!Array.isArray(option) && !(option instanceof TypedSearchAttributes)) {
    throw invalidStart('"searchAttributes" is not a list: write [{ key: defineSearchAttributeKey("Name", "KEYWORD"), value }]');
  }
  const attributes = Array.isArray(option) ? new TypedSearchAttributes(option) : option;
  const reserved = attributes.getAll().find(({ key }) => Object.values<string>(SEARCH_ATTRIBUTES).includes(key.name));
  if (reserved === undefined) return attributes;
  throw invalidStart(`the search attribute "${reserved.key.name}" is Longhaul's own: choose another one, or use "tags"`);
}

function ownMemo(memo: JsonObject): JsonObject {
  if (!isJsonObject(memo) || isTooDeep(memo, MAX_CHECKED_DEPTH)) throw invalidStart('"memo" must be an object of JSON values');
  const reserved = [RESULT_MEMO, TITLE_MEMO].find((key) => Object.hasOwn(memo, key));
  if (reserved !== undefined) throw invalidStart(`the memo "${reserved}" is Longhaul's own: choose another key`);
  const bytes = jsonBytes(memo);
  if (bytes <= MEMO_BYTES) return memo;
  throw new LonghaulError(
    'payload_too_large',
    `The run cannot start: "memo" has ${bytes} bytes of JSON, over ${MEMO_BYTES}: pass ids instead`,
  );
}

function invalidStart(problem: string): LonghaulError {
  return new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
}

/**
 * How long a refused attribute is assumed to be missing: an administrator, or a worker that starts, may add it
 * at any moment, and a run that was started without it is not listed.
 */
const FORGET_AFTER_MS = 5_000;

/** Matches server errors that say an attribute is missing, as opposed to having a wrong value. */
const IS_MISSING = /no mapping|not defined|not registered|not a valid search attribute/i;

/** For each client, the times at which the namespace refused attributes, by name. */
const refusals = new WeakMap<Client, Map<string, number>>();

/**
 * Starts a run with Longhaul's search attributes, without those that the namespace lacks: a run that lists do not show
 * as a session, for example, still works. Calls `begin` again if the server refuses the request as invalid: without the attributes
 * that the error names, or without all of them if it names none. `onNotice` hears of each missing attribute once.
 */
export async function withPublishedAttributes<Value>(
  client: Client,
  attributes: SearchAttributePair[],
  begin: (attributes: SearchAttributePair[]) => Promise<Value>,
  onNotice?: (line: string) => void,
): Promise<Value> {
  const refused = refusals.get(client) ?? new Map<string, number>();
  refusals.set(client, refused);
  let left = attributes.filter(({ key }) => Date.now() - (refused.get(key.name) ?? -Infinity) >= FORGET_AFTER_MS);
  for (;;) {
    try {
      return await begin(left);
    } catch (error) {
      if (left.length === 0 || grpcCode(error) !== GRPC.invalidArgument) throw error;
      const text = errorTexts(error);
      const named = left.filter(({ key }) => new RegExp(`\\b${key.name}\\b`).test(text));
      // A wrong value in one start must not drop the attribute for other starts.
      if (IS_MISSING.test(text)) {
        for (const { key } of named) {
          if (!refused.has(key.name)) onNotice?.(missingAttributeText(client, key.name));
          refused.set(key.name, Date.now());
        }
      }
      left = left.filter((one) => named.length > 0 && !named.includes(one));
    }
  }
}

function missingAttributeText({ options: { namespace } }: Client, name: string): string {
  return (
    `Namespace "${namespace}" lacks the search attribute "${name}": lists do not find by it what is started now, also later. ` +
    'A worker adds it when it starts, if the server lets it: start one first. "longhaul doctor" prints the command for an administrator'
  );
}

/** Returns the messages of an error and its causes: the SDK wraps some server errors. */
function errorTexts(error: unknown): string {
  const texts = [error, memberOf(error, 'cause')].flatMap((one) => [memberOf(one, 'message'), memberOf(one, 'details')]);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

/** Returns the attributes of a start plus Longhaul's. */
export function mergedAttributes(
  own: TypedSearchAttributes | undefined,
  published: SearchAttributePair[],
): { typedSearchAttributes?: SearchAttributePair[] } {
  const all = [...(own?.getAll() ?? []), ...published];
  return all.length === 0 ? {} : { typedSearchAttributes: all };
}

/**
 * The options of a start, with the deps that the agent takes, which are optional if its schema requires none. A start from
 * an earlier conversation has the deps of that conversation, and `deps` overrides members of them.
 */
export type StartOptions<GivenDeps = unknown> = NewStart<GivenDeps> | (StartSettings & EarlierOpening & { deps?: Partial<GivenDeps> });

/** The options of a start that begins a conversation. The deps come first, since the compiler reports missing options in this order. */
export type NewStart<GivenDeps = unknown> = DepsOption<GivenDeps> & RunOptions;

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

/** Starts the workflow of a run and returns its id. Before sending anything, throws for invalid input, and a UsageError for bad options. */
export async function startRun(
  client: Client,
  agent: AnyAgent | string,
  options: StartOptions,
  settings: ClientSettings = {},
): Promise<string> {
  requireKnown('the start', options, { ...START_OPTIONS, ...AWAIT_OPTIONS });
  const { principal } = options;
  const earlier = await readEarlier(client, { ...options }, { agent: typeof agent === 'string' ? agent : agent.name, principal });
  const { steps } = earlier ?? {};
  const limits = steps === undefined ? {} : { limits: { steps, ...options.limits } };
  const input = runInput(agent, { ...withEarlier(options, earlier), ...limits });
  for (const notice of earlier?.notices ?? []) settings.onNotice?.(notice);
  const start: WorkflowStart = { type: AGENT_RUN, name: input.agent, input, summary: `${input.agent}: ${openingText(input)}` };
  return startWorkflow(client, start, options, settings);
}

/** A program to start: its definition, its document, or its name on the worker. */
export type StartedProgram = AnyProgram | ProgramDocument | string;

/** The input type of a program: any object unless the program is given by its definition. */
export type StartedInputOf<Program> = Program extends AnyProgram ? GivenInputOf<Program> : JsonObject;

/** The type of a program's output. */
export type StartedOutputOf<Program> = Program extends AnyProgram ? ProgramOutputOf<Program> : JsonValue;

/** The options of starting a program. */
export interface ProgramOptions<Input = JsonObject> extends CommonStart {
  /** The input of the program, which must fit its schema. Defaults of a zod schema are filled in before it is sent. */
  input?: Input;
  /** Data of the run for its tools. */
  deps?: JsonObject;
  /**
   * Reuses the results of an earlier run of the same or an edited program, for each step whose definition and inputs are
   * equal and that comes before `from` (`unit.step`), if given. Reused steps cost nothing, and ask no person again. Both
   * runs must act for the same principal.
   */
  resume?: { run: string; from?: string };
}

const { model: _model, settings: _settings, ...COMMON_OPTIONS } = START_SETTINGS;
const OPTIONS: OptionTable<ProgramOptions> = { ...COMMON_OPTIONS, input: true, deps: true, resume: true };

/**
 * Starts the workflow of a program's run and returns its id. Before sending anything, throws `invalid_program` with all
 * problems of a document, `invalid_input` for an input that does not fit its schema or a `resume.from` that is no step of the
 * program, and `run_not_found` if `resume` names a run of another principal.
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
  // The activity that reads the earlier run also checks this. Here it fails before anything is started.
  if (input.resume !== undefined) await settings.access?.require(input.resume.run);
  return startWorkflow(client, { type: PROGRAM_RUN, name, input, summary: name }, options, settings);
}

/** Returns the input of a program's run as plain JSON. */
export function programInput(program: StartedProgram, options: ProgramOptions): ProgramInput {
  const owner = `program "${nameOf(program)}" cannot start`;
  const limits = plainLimits(owner, limitsWithDeadline(owner, options) ?? {});
  const { deps, state, principal, tags, live, tier, traceparent, resume } = options;
  const problem = (deps === undefined ? undefined : depsProblem(deps)) ?? givenPrincipalProblem(principal);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  if (typeof program !== 'string') requireChecked(program);
  const input = isDefinition(program) ? parseProgramInput(program, options.input) : options.input;
  if (typeof program !== 'string') {
    requireFits(program, input ?? {});
    requireStep(program, resume?.from);
  }
  const plain: unknown = JSON.parse(
    JSON.stringify({
      program: isDefinition(program) ? program.name : program,
      ...defined({ input, deps }),
      ...(state === undefined ? {} : { state: plainState(state) }),
      ...defined({ principal }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(tags === undefined ? {} : { tags: [...tags] }),
      live: liveOf(live),
      tier: tierOf(tier),
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

/** Throws for a step to resume from that the program does not have. */
function requireStep(program: Exclude<StartedProgram, string>, from: string | undefined): void {
  const problem = from === undefined ? undefined : fromProblem(documentOf(program), from);
  if (problem !== undefined) throw new LonghaulError('invalid_input', problem);
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
