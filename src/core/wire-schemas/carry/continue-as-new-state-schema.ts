import { isToolCall } from '../../domain/content/content.ts';
import { RUN_CODE } from '../../domain/content/tool-text.ts';
import { errorMessage } from '../../domain/errors/error.ts';
import { isTooDeep, MAX_CHECKED_DEPTH } from '../../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../domain/json/json.ts';
import { allSteps } from '../../domain/program/all-steps.ts';
import { kindOf } from '../../domain/program/document.ts';
import { NOT_RUN } from '../../domain/record/calls-not-run.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { type ContinueAsNewState, STATE_VERSION } from '../../loop/state/continue-as-new-state.ts';
import { AMOUNT, AT_LEAST_ONE, COUNT, MOMENT } from '../bounded-number.ts';
import { CODE_STATE_SCHEMA } from '../code-schema.ts';
import { HOOK_RECORDS_SCHEMA } from '../hook-schema.ts';
import { LIMITS_SCHEMA } from '../limits-schema.ts';
import { PARENT_SCHEMA } from '../parent-schema.ts';
import { PERMISSIONS_SCHEMA } from '../permissions-schema.ts';
import { pinnedStepsProblem } from '../pinned-program.ts';
import { PRINCIPAL_SCHEMA } from '../principal-schema.ts';
import { SESSION_STATE_SCHEMA } from '../requests/session-schema.ts';
import { RUN_LIMITS_SCHEMA, SNAPSHOT_SCHEMA } from '../snapshot-schema.ts';
import { HANDOFF_STATE_SCHEMA, RUN_USAGE } from './carried-handoffs-schema.ts';
import { AGGREGATED_USAGE, CARRIED_POSITION_SCHEMA } from './carried-position-schema.ts';
import { CARRIED_PROGRAM_SCHEMA } from './carried-program-schema.ts';
import { APPROVALS_SCHEMA, CARRIED_INBOX_SCHEMA } from './carried-requests-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const OBJECT: JsonObject = { type: 'object' };

/** Counts by the name of a tool. It is a list, because models invent names such as `__proto__`. */
const COUNTS_BY_NAME: JsonObject = { type: 'array', items: { type: 'array', prefixItems: [TEXT, COUNT], minItems: 2, maxItems: 2 } };

/** The JSON Schema of the calls that did not run, by reason and by name. */
const CALLS_NOT_RUN: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(Object.keys(NOT_RUN).map((reason) => [reason, { type: 'object', additionalProperties: COUNT }])),
  additionalProperties: false,
};

const NOT_ARCHIVED: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { from: COUNT, through: COUNT, message: TEXT }, required: ['from', 'through', 'message'] },
};

/** The JSON Schema of an item of the content of an event. */
const ITEM: JsonObject = {
  anyOf: [
    {
      type: 'object',
      properties: {
        type: { const: 'message' },
        role: { enum: ['system', 'user', 'assistant'] },
        content: { anyOf: [TEXT, { type: 'array', items: { type: 'object', properties: { type: TEXT }, required: ['type'] } }] },
      },
      required: ['type', 'role', 'content'],
    },
    {
      type: 'object',
      properties: { type: { const: 'tool_call' }, toolCallId: TEXT, name: TEXT, arguments: OBJECT },
      required: ['type', 'toolCallId', 'name', 'arguments'],
    },
    {
      type: 'object',
      properties: {
        type: { const: 'tool_result' },
        toolCallId: TEXT,
        name: TEXT,
        status: { enum: ['success', 'error'] },
        content: { type: 'array' },
        spilled: OBJECT,
      },
      required: ['type', 'toolCallId', 'name', 'status', 'content'],
    },
  ],
};

/** The JSON Schema of the window of a run. */
const CARRIED_WINDOW_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    events: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          offset: COUNT,
          id: TEXT,
          author: TEXT,
          content: { type: 'array', minItems: 1, items: ITEM },
          providerItems: { type: 'array' },
        },
        required: ['offset', 'id', 'author', 'content'],
      },
    },
    through: COUNT,
    lastEventId: TEXT,
    bytes: COUNT,
  },
  required: ['events', 'through', 'lastEventId', 'bytes'],
};

const ID: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 };

/** The JSON Schema of the agents that a run has started and that are alive. */
const RUNNING_AGENTS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      eventId: ID,
      index: COUNT,
      runId: ID,
      startedAt: MOMENT,
      seenAt: MOMENT,
      given: LIMITS_SCHEMA,
      runs: COUNT,
      turn: AT_LEAST_ONE,
    },
    required: ['eventId', 'index', 'runId', 'startedAt', 'seenAt', 'runs'],
  },
};

/** The JSON Schema of the agents that a run keeps between the calls of their tools. */
const KEPT_AGENTS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: { tool: ID, agent: ID, runId: ID, turns: AT_LEAST_ONE },
    required: ['tool', 'agent', 'runId', 'turns'],
  },
};

/** The JSON Schema of the ids of agents that have ended. */
const ENDED_CHILDREN_SCHEMA: JsonObject = { type: 'array', items: ID };

/** The JSON Schema of the amounts that the runs below a run have used. */
const SPENT_BELOW_SCHEMA: JsonObject = {
  type: 'object',
  properties: { usage: AGGREGATED_USAGE, toolCalls: COUNT, runs: COUNT },
  required: ['usage', 'toolCalls', 'runs'],
};

/** The JSON Schema of the carried state, version 1. Further fields may be added without a new version. */
const CONTINUE_AS_NEW_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    version: { const: STATE_VERSION },
    runId: { type: 'string', minLength: 1 },
    executions: AT_LEAST_ONE,
    snapshot: SNAPSHOT_SCHEMA,
    deps: OBJECT,
    startedAt: MOMENT,
    position: CARRIED_POSITION_SCHEMA,
    window: CARRIED_WINDOW_SCHEMA,
    currentStep: COUNT,
    state: OBJECT,
    lastStep: {
      type: 'object',
      properties: { thought: { type: ['string', 'null'] }, final: { type: 'boolean' }, finishReason: TEXT },
      required: ['thought', 'final'],
    },
    thought: TEXT,
    partial: TEXT,
    usage: RUN_USAGE,
    measured: { type: 'object', properties: { tokens: AMOUNT, bytes: AMOUNT }, required: ['tokens', 'bytes'] },
    toolCallsTotal: COUNT,
    toolCallsByName: COUNTS_BY_NAME,
    toolCallsNotRun: CALLS_NOT_RUN,
    outputRetries: COUNT,
    seenEvents: COUNT,
    uncheckedFrom: COUNT,
    recallDue: { const: true },
    inbox: CARRIED_INBOX_SCHEMA,
    approvals: APPROVALS_SCHEMA,
    limits: RUN_LIMITS_SCHEMA,
    toolCallsStarted: COUNTS_BY_NAME,
    modelRetries: COUNTS_BY_NAME,
    resultIds: { type: 'array', items: TEXT },
    lastError: TEXT,
    code: CODE_STATE_SCHEMA,
    handoffs: HANDOFF_STATE_SCHEMA,
    notArchived: NOT_ARCHIVED,
    parent: PARENT_SCHEMA,
    principal: PRINCIPAL_SCHEMA,
    session: SESSION_STATE_SCHEMA,
    children: RUNNING_AGENTS_SCHEMA,
    kept: KEPT_AGENTS_SCHEMA,
    endedChildren: ENDED_CHILDREN_SCHEMA,
    below: SPENT_BELOW_SCHEMA,
    hookRecords: HOOK_RECORDS_SCHEMA,
    permissions: PERMISSIONS_SCHEMA,
    loadedSkills: { type: 'array', items: TEXT },
    program: CARRIED_PROGRAM_SCHEMA,
  },
  required: [
    'runId',
    'executions',
    'snapshot',
    'deps',
    'startedAt',
    'position',
    'window',
    'currentStep',
    'state',
    'thought',
    'usage',
    'toolCallsTotal',
    'toolCallsByName',
    'outputRetries',
    'seenEvents',
    'inbox',
    'approvals',
    'limits',
    'toolCallsStarted',
  ],
};

/** Functions that convert a carried state of version `n` to version `n + 1`, by `n`. */
type StateMigrations = Readonly<Record<number, (state: JsonObject) => JsonObject>>;

/** The migrations from each older version. They stay here for every version that a released worker has written. */
const MIGRATIONS: StateMigrations = {};

/** The carried state, or its problem. `isUnknownVersion`: a worker of another release may be able to read it. */
export type StateCheck = { ok: true; carry: ContinueAsNewState } | { ok: false; problem: string; isUnknownVersion?: true };

/** Reads the state that an earlier execution has carried over, of this version or an older one. Never throws. */
export function checkContinueAsNewState(value: unknown, migrations: StateMigrations = MIGRATIONS): StateCheck {
  const version = isJsonObject(value) ? value['version'] : undefined;
  if (!isJsonObject(value) || typeof version !== 'number') return { ok: false, problem: 'the carried state of the run has no version' };
  if (isTooDeep(value, MAX_CHECKED_DEPTH))
    return { ok: false, problem: `the carried state of the run is nested deeper than ${MAX_CHECKED_DEPTH} levels` };
  let state = value;
  for (let from = version; from < STATE_VERSION; from += 1) {
    const migrate = migrations[from];
    if (migrate === undefined) return unknownVersion(version);
    try {
      state = { ...migrate(state), version: from + 1 };
    } catch (error) {
      return { ok: false, problem: `the carried state of the run cannot be read as version ${from + 1}: ${errorMessage(error)}` };
    }
  }
  if (state['version'] !== STATE_VERSION) return unknownVersion(version);
  const problems = checkJson(CONTINUE_AS_NEW_STATE_SCHEMA, state);
  if (problems.length > 0 || !isState(state)) return { ok: false, problem: problemsText(problems) };
  const problem = inconsistency(state);
  return problem === undefined ? { ok: true, carry: state } : { ok: false, problem };
}

function unknownVersion(version: number): StateCheck {
  const problem = `the carried state of the run has version ${version}, and this worker reads version ${STATE_VERSION}: run it on a worker of the release that wrote it, or a newer one`;
  return { ok: false, problem, isUnknownVersion: true };
}

/** Narrows the type of a value that fits the schema. */
function isState(state: JsonObject): state is JsonObject & ContinueAsNewState {
  return state['version'] === STATE_VERSION;
}

/**
 * Describes a contradiction between parts of a carried state that each fit the schema; undefined if there is none. The loop relies
 * on the absence of such contradictions, and no run writes one.
 */
function inconsistency(state: ContinueAsNewState): string | undefined {
  return (
    windowProblem(state) ??
    countProblem(state) ??
    positionProblem(state) ??
    snapshotProblem(state) ??
    programProblem(state) ??
    repeatedRequest(state)
  );
}

function windowProblem({ window: { events, through } }: ContinueAsNewState): string | undefined {
  const beyond = events.find(({ offset }) => offset >= through);
  if (beyond !== undefined) return `window.events: offset ${beyond.offset} is beyond the ${through} events of the record`;
  const twice = repeated(events.map(({ offset }) => offset)) ?? repeated(events.map(({ id }) => id));
  return twice === undefined ? undefined : `window.events: two events have the offset or id "${twice}"`;
}

function countProblem({
  seenEvents,
  window,
  toolCallsTotal,
  toolCallsByName,
  toolCallsStarted = [],
  modelRetries = [],
}: ContinueAsNewState): string | undefined {
  if (seenEvents > window.through) return `seenEvents: the model has seen ${seenEvents} of ${window.through} events`;
  const sum = toolCallsByName.reduce((calls, [, more]) => calls + more, 0);
  if (sum !== toolCallsTotal) return `toolCallsTotal: ${toolCallsTotal}, and ${sum} by the names of the tools`;
  const twice = [toolCallsByName, toolCallsStarted, modelRetries].map((counts) => repeated(counts.map(([name]) => name))).find(isThere);
  return twice === undefined ? undefined : `the name "${twice}" is counted twice`;
}

function positionProblem({ position, window, code, session }: ContinueAsNewState): string | undefined {
  if (position.type === 'idle' && session === undefined) return 'position: only a session can be idle';
  if (position.type === 'idle' && session?.turn !== undefined) return 'position: a session is not idle in a turn';
  if (position.type === 'call_model' || position.type === 'idle') return undefined;
  const cell = position.type === 'run_cell' ? position : position.cell;
  if (position.type === 'run_tools' && cell !== undefined) {
    const { response, outcomes } = position;
    if (code?.calls?.id !== response.id) return `position.response: the code waits for no calls of event "${response.id}"`;
    if (outcomes.length > code.calls.content.length) return outcomesProblem(outcomes.length, code.calls.content.length);
  }
  const tools = cell === undefined ? position : cell.tools;
  if (tools.type !== 'run_tools') return undefined;
  const response = window.events.find(({ id }) => id === tools.response.id);
  if (response === undefined) return `position.response: the window has no event "${tools.response.id}"`;
  const calls = response.content.filter(isToolCall);
  if (tools.outcomes.length > calls.length) return outcomesProblem(tools.outcomes.length, calls.length);
  if (cell === undefined) return undefined;
  if (calls[cell.index]?.name !== RUN_CODE) return `position.index: call ${cell.index} runs no code`;
  const hasBegun = cell.spentMs !== undefined || position.type === 'run_tools';
  return hasBegun && (code === undefined || code.journal.cells.length === 0) ? 'code.journal: the cell in progress is missing' : undefined;
}

function outcomesProblem(outcomes: number, calls: number): string {
  return `position.outcomes: ${outcomes} outcomes of ${calls} calls`;
}

/**
 * Checks the names and the backoffs of the tools. Temporal would refuse an activity whose waits become shorter, and retry the task
 * for ever.
 */
function snapshotProblem({ snapshot: { tools } }: ContinueAsNewState): string | undefined {
  const twice = repeated(tools.map(({ name }) => name));
  if (twice !== undefined) return `snapshot.tools: two tools have the name "${twice}"`;
  const shrinking = tools.find(({ backoff }) => backoff !== undefined && backoff.maxMs < backoff.initialMs);
  return shrinking === undefined ? undefined : `snapshot.tools: the longest wait of "${shrinking.name}" is shorter than its first`;
}

/** Checks that a program has its document and its state, and that every unit and step in the state belongs to the document. */
function programProblem({ snapshot, program }: ContinueAsNewState): string | undefined {
  if (snapshot.program === undefined) return program === undefined ? undefined : 'program: the snapshot has no program';
  if (program === undefined) return 'program: the state of the program is missing';
  for (const document of [snapshot.program, ...(program.earlier === undefined ? [] : [program.earlier.document])]) {
    const problem = document.units.map(({ steps: list }) => pinnedStepsProblem(list)).find(isThere);
    if (problem !== undefined) return `program "${document.name}": ${problem}`;
  }
  const steps = new Map(allSteps(snapshot.program).map(({ unit, step }) => [`${unit.name}.${step.name}`, kindOf(step)]));
  const unknown =
    program.units.find(([name]) => !snapshot.program?.units.some((unit) => unit.name === name)) ??
    program.steps.find(([at, { kind }]) => steps.get(withoutIndexes(at)) !== kind);
  if (unknown !== undefined) return `program: "${unknown[0]}" is not in the document`;
  const unnamed = program.steps.find(([, { spilled, outputId }]) => spilled !== undefined && outputId === undefined);
  if (unnamed !== undefined) return `program: the stored output of "${unnamed[0]}" has no id`;
  const twice = repeated(program.units.map(([name]) => name)) ?? repeated(program.steps.map(([at]) => at));
  return twice === undefined ? undefined : `program: "${twice}" is there twice`;
}

function repeatedRequest({ approvals, inbox }: ContinueAsNewState): string | undefined {
  const twice =
    repeated(approvals?.pending.map(({ callId }) => callId) ?? []) ??
    repeated(inbox.messages.map(({ id }) => id)) ??
    repeated((inbox.raises ?? []).map(({ id }) => id));
  return twice === undefined ? undefined : `two requests, messages or calls that wait have the id "${twice}"`;
}

/** Returns the first value that occurs twice. */
function repeated(values: readonly (string | number)[]): string | number | undefined {
  const seen = new Set<string | number>();
  return values.find((value) => seen.size === seen.add(value).size);
}

function isThere<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

/** Returns the name of a step by its address: `sort.Kind` of `sort.Kind[2][0]`. */
function withoutIndexes(address: string): string {
  const at = address.indexOf('[');
  return at >= 0 && /^(?:\[\d+\])+$/.test(address.slice(at)) ? address.slice(0, at) : address;
}
