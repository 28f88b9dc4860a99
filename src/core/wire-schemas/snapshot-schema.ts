import type { JsonObject } from '../domain/json/json.ts';
import { GUARDRAIL_TYPES } from '../domain/guardrails/guardrail.ts';
import { ANSWER_RULES_SCHEMA } from './agent-document-schema.ts';
import { AMOUNT, AT_LEAST_ONE, ATTEMPTS, COUNT, DURATION, DURATION_OR_NONE, SUMMAND } from './bounded-number.ts';
import { CODE_SNAPSHOT_SCHEMA } from './code-schema.ts';
import { PINNED_PROGRAM_SCHEMA } from './pinned-program.ts';
import { FLOW_SCHEMA } from './flow-schema.ts';
import { HOOK_RECORDS_SCHEMA, HOOKS_SCHEMA } from './hook-schema.ts';
import { LIMITS_SCHEMA } from './limits-schema.ts';
import { CATEGORY_SCHEMA, MAX_LAYERS, PERMISSIONS_SCHEMA } from './permissions-schema.ts';
import { propertiesOf } from '../json-schema/json-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const TEXTS: JsonObject = { type: 'array', items: TEXT };
const OBJECT: JsonObject = { type: 'object' };
const FLAG: JsonObject = { type: 'boolean' };
const YES: JsonObject = { const: true };

/** The JSON Schema of a name of an activity or a task queue. A longer one would fail the workflow task for ever. */
const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 };

/** The JSON Schema of the decision that a deadline makes. */
export const DEADLINE_ACTION: JsonObject = { enum: ['approve', 'reject'] };

/** The JSON Schema of the deadline of a decision. */
const APPROVAL_DEADLINE: JsonObject = {
  type: 'object',
  properties: { deadlineMs: DURATION, onDeadline: DEADLINE_ACTION },
};

/** The JSON Schema of the limits of a run, in its snapshot and after raises. */
export const RUN_LIMITS_SCHEMA: JsonObject = {
  type: 'object',
  properties: { ...propertiesOf(LIMITS_SCHEMA), steps: COUNT, finalAttempt: FLAG, onLimit: { const: 'ask' } },
  required: ['steps'],
};

const OWN_LIMITS: JsonObject = { ...LIMITS_SCHEMA, properties: { ...propertiesOf(LIMITS_SCHEMA), onLimit: { const: 'ask' } } };

const LIMITS_BY_NAME: JsonObject = { type: 'object', additionalProperties: OWN_LIMITS };

const TOOL: JsonObject = {
  type: 'object',
  properties: {
    name: NAME,
    description: TEXT,
    label: TEXT,
    version: TEXT,
    parameters: OBJECT,
    strict: FLAG,
    schema: OBJECT,
    parallel: FLAG,
    updates: { anyOf: [FLAG, TEXTS] },
    maxResultBytes: COUNT,
    approval: {
      ...APPROVAL_DEADLINE,
      properties: { ...propertiesOf(APPROVAL_DEADLINE), when: { enum: ['always', 'predicate'] } },
      required: ['when'],
    },
    mcp: { type: 'object', properties: { server: TEXT, tool: TEXT }, required: ['server', 'tool'] },
    answer: OBJECT,
    result: OBJECT,
    callers: { type: 'array', items: { enum: ['model', 'code'] } },
    category: CATEGORY_SCHEMA,
    notExecutable: { const: true },
    handoff: { const: true },
    ofSkills: { const: true },
    ofMemory: { const: true },
    agent: {
      type: 'object',
      properties: { name: TEXT, share: TEXTS, limits: LIMITS_SCHEMA, final: YES, branch: YES, request: YES, kept: YES, leaf: YES },
      required: ['name', 'share'],
    },
    timeoutMs: DURATION,
    maxAttempts: ATTEMPTS,
    backoff: {
      type: 'object',
      properties: { initialMs: DURATION, factor: { type: 'number', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, maxMs: DURATION },
      required: ['initialMs', 'factor', 'maxMs'],
    },
    effect: { const: 'once' },
    verify: { const: true },
    tier: { const: 'local' },
    heartbeatTimeoutMs: DURATION,
    modelRetries: COUNT,
    concurrency: AT_LEAST_ONE,
    taskQueue: NAME,
  },
  required: ['name', 'parameters', 'schema', 'timeoutMs', 'maxAttempts'],
};

const OUTPUT: JsonObject = {
  type: 'object',
  properties: { mode: { enum: ['schema', 'final_answer'] }, schema: OBJECT, providerSchema: OBJECT, strict: FLAG, maxRetries: COUNT },
  required: ['mode', 'schema', 'maxRetries'],
};

const WINDOW_POLICY: JsonObject = {
  type: 'object',
  properties: { maxTokens: SUMMAND, maxBytes: AMOUNT, keepResults: COUNT, summarise: FLAG, summaryModel: TEXT },
  required: ['maxTokens', 'maxBytes', 'keepResults', 'summarise'],
};

/** The JSON Schema of a price in US dollars per million tokens. */
const PRICE: JsonObject = {
  type: 'object',
  properties: { input: AMOUNT, output: AMOUNT, cachedInput: AMOUNT },
  required: ['input', 'output'],
};

const SKILL: JsonObject = {
  type: 'object',
  properties: { name: TEXT, description: TEXT, digest: TEXT, stored: OBJECT, allowedTools: TEXTS, active: { const: true } },
  required: ['name', 'description', 'digest'],
};

const MEMORY: JsonObject = {
  type: 'object',
  properties: {
    name: TEXT,
    recall: { type: 'object', properties: { topK: AT_LEAST_ONE, maxBytes: AT_LEAST_ONE }, required: ['topK', 'maxBytes'] },
    tools: YES,
  },
};

/** The JSON Schema of a snapshot. Further fields may be added. */
export const SNAPSHOT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    name: TEXT,
    description: TEXT,
    instructions: TEXTS,
    model: TEXT,
    digest: TEXT,
    tools: { type: 'array', items: TOOL },
    parallel: FLAG,
    settings: OBJECT,
    output: OUTPUT,
    checks: ANSWER_RULES_SCHEMA,
    code: CODE_SNAPSHOT_SCHEMA,
    replyFormat: { enum: ['code', 'json'] },
    handoffs: { type: 'object', properties: { agents: TEXTS, max: COUNT }, required: ['agents', 'max'] },
    flow: FLOW_SCHEMA,
    guardrails: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: TEXT, type: { enum: [...GUARDRAIL_TYPES] }, timeoutMs: DURATION, failOpen: { const: true } },
        required: ['name', 'type', 'timeoutMs'],
      },
    },
    deps: OBJECT,
    onUnknownOutcome: { const: 'ask' },
    limits: RUN_LIMITS_SCHEMA,
    children: { type: 'object', properties: { depth: COUNT, alive: AT_LEAST_ONE, perTree: AT_LEAST_ONE } },
    timing: {
      type: 'object',
      properties: {
        heartbeatMs: DURATION,
        modelTimeoutMs: DURATION,
        modelMaxAttempts: ATTEMPTS,
        modelPatienceMs: DURATION_OR_NONE,
        childCheckMs: DURATION,
      },
      required: ['heartbeatMs', 'modelTimeoutMs', 'modelMaxAttempts'],
    },
    hooks: HOOKS_SCHEMA,
    hookRecords: HOOK_RECORDS_SCHEMA,
    approvals: APPROVAL_DEADLINE,
    permissions: { type: 'array', items: PERMISSIONS_SCHEMA, maxItems: MAX_LAYERS },
    skills: { type: 'array', items: SKILL },
    memory: MEMORY,
    authorize: { const: true },
    notify: { const: true },
    notifyEnded: { const: true },
    prices: { type: 'object', additionalProperties: PRICE },
    window: WINDOW_POLICY,
    continueAsNew: {
      type: 'object',
      properties: { events: AMOUNT, bytes: AMOUNT, updates: AMOUNT },
      required: ['events', 'bytes', 'updates'],
    },
    upgradeOnContinueAsNew: { const: true },
    archive: FLAG,
    searchAttributes: FLAG,
    waitingForAttribute: { const: true },
    tags: TEXTS,
    tagAttribute: { const: true },
    live: { const: true },
    program: PINNED_PROGRAM_SCHEMA,
    childLimits: {
      type: 'object',
      properties: { agents: LIMITS_BY_NAME, programs: LIMITS_BY_NAME },
      required: ['agents', 'programs'],
    },
  },
  required: ['name', 'instructions', 'model', 'digest', 'tools', 'settings', 'limits', 'timing'],
};
