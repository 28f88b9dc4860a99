import type { FlowKind } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import type { ContentPart } from '../domain/content.ts';
import { HOOK_EVENTS } from '../domain/hooks.ts';
import { isJsonObject, type JsonObject } from '../domain/json.ts';
import { MAX_GLOB_LENGTH, PERMISSION_MODES } from '../domain/permissions.ts';
import type { Principal } from '../domain/run.ts';
import { MAX_DURATION_MS } from '../domain/time.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';

/** A whole number that can be incremented: adding 1 to a larger one has no effect. */
export const COUNT: JsonObject = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The same, and at least 1. */
export const AT_LEAST_ONE: JsonObject = { ...COUNT, minimum: 1 };

/**
 * A number that can be added to others and may be negative: the cost of a call is, if a provider reports more cached tokens than
 * prompt tokens.
 */
export const SUMMAND: JsonObject = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** A measured number of at least 0. */
const AMOUNT: JsonObject = { type: 'number', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** A duration in milliseconds. */
export const DURATION: JsonObject = { type: 'number', exclusiveMinimum: 0, maximum: MAX_DURATION_MS };

/** A time in milliseconds since the epoch, up to the last that a `Date` can hold. */
export const MOMENT: JsonObject = { type: 'number', minimum: 0, maximum: 8_640_000_000_000_000 };

/** The JSON Schema of an amount of US dollars above 0. */
const POSITIVE: JsonObject = { ...AMOUNT, exclusiveMinimum: 0 };

/** The JSON Schema of limits: those that a start sets, and the amounts that a child is given of the limits of its parent. */
export const LIMITS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    steps: AT_LEAST_ONE,
    toolCalls: COUNT,
    toolCallsByName: { type: 'object', additionalProperties: COUNT },
    inputTokens: COUNT,
    outputTokens: COUNT,
    totalTokens: COUNT,
    costUsd: { ...POSITIVE, description: 'US dollars.' },
    deadlineMs: { ...DURATION, description: 'Milliseconds from the start of the run.' },
  },
  additionalProperties: false,
};

/** The JSON Schema of the limits that a caller raises during the run. */
export const LIMIT_CHANGES_SCHEMA: JsonObject = { ...LIMITS_SCHEMA, minProperties: 1 };

const GLOB: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_GLOB_LENGTH };

const RULES: JsonObject = {
  type: 'array',
  maxItems: 100,
  items: {
    type: 'object',
    properties: { tool: GLOB, category: GLOB, args: { type: 'object', additionalProperties: GLOB } },
    additionalProperties: false,
  },
};

/** The most policies that hold for one run: one of the agent, and at most two of each run above and of the start. */
export const MAX_LAYERS = 20;

/** The JSON Schema of permissions, with all rules as objects. */
export const PERMISSIONS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    mode: { enum: [...PERMISSION_MODES] },
    deny: RULES,
    ask: RULES,
    allow: RULES,
    approvalRequired: RULES,
    allowUnattendedExecute: { const: true },
  },
  required: ['mode'],
  additionalProperties: false,
};

/** Bytes of JSON that a principal may have: it is carried through the run, and given to each child. */
const PRINCIPAL_BYTES = 8_000;

const PRINCIPAL_NAME: JsonObject = { type: 'string', minLength: 1, maxLength: 200 };

export const PRINCIPAL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { tenant: PRINCIPAL_NAME, user: PRINCIPAL_NAME, claims: { type: 'object' } },
  additionalProperties: false,
};

/** The JSON Schema of the part of a principal that says who it is. */
export const IDENTITY_SCHEMA: JsonObject = {
  type: 'object',
  properties: { tenant: PRINCIPAL_NAME, user: PRINCIPAL_NAME },
  additionalProperties: false,
};

/** Returns why a principal is too large; empty if it is not. */
export function principalSizeProblem(principal: Principal | undefined): string[] {
  const bytes = principal === undefined ? 0 : jsonBytes(principal);
  return bytes > PRINCIPAL_BYTES
    ? [`principal: ${bytes} bytes of JSON, over ${PRINCIPAL_BYTES}: pass ids as claims, and let tools look up the rest`]
    : [];
}

const TEXT: JsonObject = { type: 'string' };
const NON_EMPTY_TEXT: JsonObject = { type: 'string', minLength: 1 };
const SIZE: JsonObject = { type: 'number', minimum: 0 };

/** Returns the JSON Schema of one of several objects, with its own type and fields. */
function variant(type: string, fields: JsonObject, required: string[] = []): JsonObject {
  return {
    type: 'object',
    properties: { type: { type: 'string', const: type }, ...fields },
    required: ['type', ...required],
    additionalProperties: false,
  };
}

function mediaPart(type: string, fields: JsonObject): JsonObject {
  return variant(type, { url: TEXT, data: TEXT, mediaType: TEXT, ...fields });
}

/** The choices of the content of a message: text, or parts of which some may be media. */
export const MESSAGE_CONTENT: readonly JsonObject[] = [
  TEXT,
  {
    type: 'array',
    minItems: 1,
    items: {
      anyOf: [
        variant('text', { text: TEXT }, ['text']),
        mediaPart('image', { width: SIZE, height: SIZE }),
        mediaPart('audio', { format: TEXT }),
        mediaPart('video', { format: TEXT }),
        mediaPart('file', { name: TEXT }),
      ],
    },
  },
];

/** The JSON Schema of the location of content in a payload store. */
const SPILLED: JsonObject = {
  type: 'object',
  properties: { store: TEXT, claim: { type: 'object', additionalProperties: TEXT }, bytes: COUNT, sha256: TEXT },
  required: ['store', 'claim', 'bytes', 'sha256'],
  additionalProperties: false,
};

/** The JSON Schema of an item of a conversation. */
export const CONTENT_ITEM: JsonObject = {
  anyOf: [
    variant('message', { role: { enum: ['system', 'user', 'assistant'] }, content: { anyOf: [...MESSAGE_CONTENT] } }, ['role', 'content']),
    variant('tool_call', { toolCallId: NON_EMPTY_TEXT, name: NON_EMPTY_TEXT, arguments: { type: 'object' } }, [
      'toolCallId',
      'name',
      'arguments',
    ]),
    variant(
      'tool_result',
      {
        toolCallId: NON_EMPTY_TEXT,
        name: NON_EMPTY_TEXT,
        status: { enum: ['success', 'error'] },
        content: { type: 'array' },
        spilled: SPILLED,
      },
      ['toolCallId', 'name', 'status', 'content'],
    ),
  ],
};

/** Lists the media parts that do not have exactly one source. `path` leads to the content. */
export function mediaProblems(content: string | readonly ContentPart[], path: string): JsonProblem[] {
  if (typeof content === 'string') return [];
  return content.flatMap((one, index) => {
    if (one.type === 'text' || (one.url === undefined) !== (one.data === undefined)) return [];
    return [
      { path: `${path}[${index}]`, message: `expected exactly one of "url" and "data", got ${one.url === undefined ? 'neither' : 'both'}` },
    ];
  });
}

/** The JSON Schema of the hooks in a snapshot. */
export const HOOKS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: TEXT,
      on: { enum: [...HOOK_EVENTS] },
      of: TEXT,
      tier: { const: 'remote' },
      timeoutMs: DURATION,
      failClosed: { const: true },
    },
    required: ['name', 'on'],
  },
};

const FLOW_KIND: JsonObject = { enum: ['sequential', 'loop', 'parallel'] satisfies FlowKind[] };

/** The JSON Schema of the order of agents in the input of a run. */
export const FLOW_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    kind: FLOW_KIND,
    agents: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 100 }, minItems: 1, maxItems: 100, uniqueItems: true },
    maxIterations: { ...AT_LEAST_ONE, maximum: 10_000 },
    until: { type: 'object' },
  },
  required: ['kind', 'agents'],
  additionalProperties: false,
};

/**
 * Returns why a value is no principal whose names can be recorded: half of a surrogate pair would become another name. Undefined if it is
 * one.
 */
export function principalProblem(value: unknown): string | undefined {
  const problems = isJsonObject(value) ? checkJson(PRINCIPAL_SCHEMA, value) : [{ path: '', message: 'expected an object' }];
  if (problems.length > 0) return `"principal": ${problemsText(problems)}`;
  const { tenant = '', user = '' } = value as Principal;
  if (tenant.isWellFormed() && user.isWellFormed()) return undefined;
  return '"principal" has half of a surrogate pair in a name: write a text of whole characters';
}
