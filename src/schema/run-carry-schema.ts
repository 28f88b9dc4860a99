import { errorMessage } from '../domain/error.ts';
import { isTooDeep } from '../domain/json-depth.ts';
import { isJsonObject, type JsonObject } from '../domain/json.ts';
import { CARRY_VERSION, type RunCarry } from '../loop/run-carry.ts';
import { checkJson, MAX_CHECKED_DEPTH, problemsText } from './check-json-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
const OBJECT: JsonObject = { type: 'object' };
const OBJECTS: JsonObject = { type: 'array', items: OBJECT };

const WINDOW: JsonObject = {
  type: 'object',
  properties: {
    events: {
      type: 'array',
      items: {
        type: 'object',
        properties: { offset: COUNT, id: TEXT, author: TEXT, content: { type: 'array', minItems: 1, items: OBJECT } },
        required: ['offset', 'id', 'author', 'content'],
      },
    },
    through: COUNT,
    lastEventId: TEXT,
    bytes: COUNT,
  },
  required: ['events', 'through', 'lastEventId', 'bytes'],
};

const POSITION: JsonObject = {
  anyOf: [
    { type: 'object', properties: { type: { const: 'call_model' }, final: { type: 'boolean' } }, required: ['type', 'final'] },
    {
      type: 'object',
      properties: {
        type: { const: 'run_tools' },
        response: { type: 'object', properties: { id: TEXT, finishReason: TEXT }, required: ['id', 'finishReason'] },
        final: { type: 'boolean' },
        outcomes: { type: 'array', items: { type: ['object', 'null'] } },
      },
      required: ['type', 'response', 'final', 'outcomes'],
    },
  ],
};

const INBOX: JsonObject = {
  type: 'object',
  properties: {
    messages: OBJECTS,
    seen: { type: 'array', items: TEXT },
    paused: { type: 'boolean' },
    cancelReason: TEXT,
    decisions: OBJECTS,
    raises: OBJECTS,
    refused: OBJECTS,
  },
  required: ['messages', 'seen', 'paused'],
};

const APPROVALS: JsonObject = {
  type: 'object',
  properties: { pending: OBJECTS, approved: OBJECTS, decided: OBJECTS, remembered: OBJECTS },
  required: ['pending', 'approved', 'decided', 'remembered'],
};

const NOT_ARCHIVED: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { from: COUNT, through: COUNT, message: TEXT }, required: ['from', 'through', 'message'] },
};

const LIMITS: JsonObject = { type: 'object', properties: { maxIterations: COUNT }, required: ['maxIterations'] };

/** The JSON Schema of the carry, version 1. Fields that are not named here may be added without a new version. */
export const RUN_CARRY_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    version: { const: CARRY_VERSION },
    runId: { type: 'string', minLength: 1 },
    executions: { type: 'integer', minimum: 1 },
    snapshot: {
      type: 'object',
      properties: { name: TEXT, model: TEXT, digest: TEXT, tools: OBJECTS, limits: OBJECT, timing: OBJECT },
      required: ['name', 'model', 'digest', 'tools', 'limits', 'timing'],
    },
    deps: OBJECT,
    startedAt: { type: 'number' },
    position: POSITION,
    window: WINDOW,
    currentStep: COUNT,
    state: OBJECT,
    thought: TEXT,
    usage: OBJECT,
    toolCallsTotal: COUNT,
    toolCallsByName: { type: 'array', items: { type: 'array', minItems: 2, maxItems: 2 } },
    outputRetries: COUNT,
    seenEvents: COUNT,
    inbox: INBOX,
    approvals: APPROVALS,
    limits: LIMITS,
    toolCallsStarted: { type: 'array', items: { type: 'array', minItems: 2, maxItems: 2 } },
    lastError: TEXT,
    notArchived: NOT_ARCHIVED,
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

/** A carry of version `n` as one of version `n + 1`. */
export type CarryMigrations = Readonly<Record<number, (carry: JsonObject) => JsonObject>>;

/** From each older version to the next. Versions that a released worker has written stay here for ever. */
const MIGRATIONS: CarryMigrations = {};

/** The carry, or what is wrong with it. */
export type RunCarryCheck = { ok: true; carry: RunCarry } | { ok: false; problem: string };

/** Reads what an execution before has carried over, of this version or an older one. Never throws. */
export function checkRunCarry(value: unknown, migrations: CarryMigrations = MIGRATIONS): RunCarryCheck {
  const version = isJsonObject(value) ? value['version'] : undefined;
  if (!isJsonObject(value) || typeof version !== 'number') return { ok: false, problem: 'the carry of the run has no version' };
  if (isTooDeep(value, MAX_CHECKED_DEPTH))
    return { ok: false, problem: `the carry of the run is nested deeper than ${MAX_CHECKED_DEPTH} levels` };
  let carry = value;
  for (let from = version; from < CARRY_VERSION; from += 1) {
    const migrate = migrations[from];
    if (migrate === undefined) return { ok: false, problem: unknownVersion(version) };
    try {
      carry = { ...migrate(carry), version: from + 1 };
    } catch (error) {
      return { ok: false, problem: `the carry of the run cannot be read as version ${from + 1}: ${errorMessage(error)}` };
    }
  }
  if (carry['version'] !== CARRY_VERSION) return { ok: false, problem: unknownVersion(version) };
  const problems = checkJson(RUN_CARRY_SCHEMA, carry);
  return problems.length === 0 && isRunCarry(carry) ? { ok: true, carry } : { ok: false, problem: problemsText(problems) };
}

function unknownVersion(version: number): string {
  return `the carry of the run has version ${version}, and this worker reads version ${CARRY_VERSION}: run it on a worker of the release that wrote it, or a newer one`;
}

/** True for what the schema lets pass. */
function isRunCarry(carry: JsonObject): carry is JsonObject & RunCarry {
  return carry['version'] === CARRY_VERSION;
}
