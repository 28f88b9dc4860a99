import { errorMessage } from '../../domain/errors/error.ts';
import { isTooDeep, MAX_CHECKED_DEPTH } from '../../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../domain/json/json.ts';
import { NOT_RUN } from '../../domain/record/calls-not-run.ts';
import { STATE_VERSION, type ContinueAsNewState } from '../../loop/state/continue-as-new-state.ts';
import { AMOUNT, AT_LEAST_ONE, COUNT, MOMENT } from '../bounded-number.ts';
import { CODE_STATE_SCHEMA } from '../code-schema.ts';
import { CARRIED_PROGRAM_SCHEMA } from './carried-program-schema.ts';
import { CARRIED_POSITION_SCHEMA } from './carried-position-schema.ts';
import { HANDOFF_STATE_SCHEMA, RUN_USAGE } from './carried-handoffs-schema.ts';
import { APPROVALS_SCHEMA, CARRIED_INBOX_SCHEMA } from './carried-requests-schema.ts';
import { CARRIED_WINDOW_SCHEMA } from './carried-window-schema.ts';
import { ENDED_CHILDREN_SCHEMA, KEPT_AGENTS_SCHEMA, RUNNING_AGENTS_SCHEMA, SPENT_BELOW_SCHEMA } from './carried-children-schema.ts';
import { SESSION_STATE_SCHEMA } from '../requests/session-schema.ts';
import { PARENT_SCHEMA } from '../parent-schema.ts';
import { PRINCIPAL_SCHEMA } from '../principal-schema.ts';
import { HOOK_RECORDS_SCHEMA } from '../hook-schema.ts';
import { PERMISSIONS_SCHEMA } from '../permissions-schema.ts';
import { inconsistency } from './state-consistency.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { RUN_LIMITS_SCHEMA, SNAPSHOT_SCHEMA } from '../snapshot-schema.ts';

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
  ],
};

/** Functions that convert a carried state of version `n` to version `n + 1`, by `n`. */
export type StateMigrations = Readonly<Record<number, (state: JsonObject) => JsonObject>>;

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
