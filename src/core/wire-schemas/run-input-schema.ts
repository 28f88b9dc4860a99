import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import { CONTENT_ITEM, type ContentItem, MESSAGE_CONTENT, needsResponse } from '../domain/content.ts';
import { startStateProblem } from '../domain/deps.ts';
import { depthProblem, isJsonObject, isTooDeep, type JsonObject } from '../domain/json.ts';
import { LIMITS, MAX_TREE_DEPTH, SESSION_LIMITS } from '../domain/limits.ts';
import { MAX_LAYERS, PERMISSIONS } from '../domain/permissions.ts';
import { PROGRAM_LIMITS } from '../domain/program-document.ts';
import type { ProgramInput } from '../domain/program-run.ts';
import type { RunInput } from '../domain/run-input.ts';
import { PRINCIPAL } from '../domain/run.ts';
import { AT_LEAST_ONE, COUNT, DURATION, MOMENT, NUMBER, TEXT } from '../domain/shape.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/json-schema.ts';
import { FLOW_INPUT_SCHEMA, HOOKS_SCHEMA, mediaProblems, principalSizeProblem } from './value-schemas.ts';

const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 };

const TEXTS: JsonObject = { type: 'array', items: TEXT };

/** The checks of an answer. */
const RULES: JsonObject = {
  step: NAME,
  anchors: { type: 'array', items: NAME },
  type: TEXT,
  confidenceFloor: NUMBER,
  requiredFields: TEXTS,
  range: { type: 'object', properties: { min: NUMBER, max: NUMBER }, additionalProperties: false },
  lenient: { const: true },
};

/** The JSON Schema of an agent in the input of its run. */
const AGENT_DOCUMENT_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The agent itself, if it is a step of the program that starts the run.',
  properties: {
    ...RULES,
    model: { type: 'string', pattern: '^[^/]+/.', maxLength: 1_000 },
    instructions: TEXTS,
    tools: { type: 'array', items: NAME, minItems: 1, uniqueItems: true },
    settings: { type: 'object' },
    output: { type: 'object' },
  },
  required: ['step', 'model', 'instructions', 'tools'],
  additionalProperties: false,
};

const TERMS: JsonObject = {
  limits: SESSION_LIMITS,
  compactAfter: { anyOf: [AT_LEAST_ONE, { type: 'null' }] },
  title: { type: 'string', minLength: 1, maxLength: 200 },
  generateTitle: { const: true },
  refresh: { const: 'never' },
};

/** The JSON Schema of the part of the input of a run that makes it a session. */
const SESSION_INPUT_SCHEMA: JsonObject = { type: 'object', properties: TERMS, additionalProperties: false };

/** The JSON Schema of the parent of a run, in the input of the run. */
const PARENT_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The run that started this one as its child.',
  properties: {
    runId: { type: 'string', minLength: 1, maxLength: 1_000 },
    firstRunId: { type: 'string', minLength: 1, maxLength: 1_000 },
    depth: { type: 'integer', minimum: 1, maximum: MAX_TREE_DEPTH },
    checkMs: DURATION,
    checkAt: MOMENT,
    left: LIMITS,
    tree: {
      type: 'object',
      properties: { depth: COUNT, alive: COUNT, runs: COUNT },
      required: ['depth', 'alive', 'runs'],
      additionalProperties: false,
    },
    hooks: HOOKS_SCHEMA,
    kept: { const: true },
    permissions: { type: 'array', items: PERMISSIONS, maxItems: MAX_LAYERS },
  },
  required: ['runId', 'depth', 'checkMs'],
  additionalProperties: false,
};

/** The JSON Schema of the reference to the call that started a run, in the input of the run. */
const FROM_CALL_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The call of the parent that holds the whole input.',
  properties: {
    eventId: { type: 'string', minLength: 1, maxLength: 1_000 },
    index: COUNT,
    input: { const: true },
    deps: { const: true },
  },
  required: ['eventId', 'index'],
  additionalProperties: false,
};

/** The JSON Schema of the model settings that a start may set. */
const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    maxOutputTokens: AT_LEAST_ONE,
    toolChoice: {
      anyOf: [
        { enum: ['auto', 'required', 'none'] },
        {
          type: 'object',
          properties: { tool: { type: 'string', minLength: 1 }, every: { type: 'boolean' } },
          required: ['tool'],
          additionalProperties: false,
        },
        {
          type: 'object',
          properties: { required: { const: true }, every: { type: 'boolean' } },
          required: ['required'],
          additionalProperties: false,
        },
      ],
    },
    parallelToolCalls: { type: 'boolean' },
    reasoningEffort: { type: 'string', minLength: 1 },
    thinkTags: { enum: ['reasoning', 'text'] },
    extra: { type: 'object' },
  },
  additionalProperties: false,
};

/** The most tags of a run, and the most characters of one tag. */
const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 100;

/** The JSON Schemas of the overrides of one run, by the name of the field in its input. */
const OVERRIDES = {
  model: { type: 'string', pattern: '^[^/]+/.', maxLength: 1_000, description: 'Instead of the model of the agent: provider/model.' },
  settings: { ...SETTINGS_SCHEMA, description: 'Each instead of the setting of the agent.' },
  tags: {
    type: 'array',
    maxItems: MAX_TAGS,
    items: { type: 'string', minLength: 1, maxLength: MAX_TAG_LENGTH },
    description: 'Words that the run is found by.',
  },
  live: { const: true, description: 'Heartbeats may carry the live output of the run.' },
} satisfies JsonObject;

export const RUN_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    agent: { type: 'string', minLength: 1, description: 'The name of the agent.' },
    document: AGENT_DOCUMENT_SCHEMA,
    flow: { ...FLOW_INPUT_SCHEMA, description: 'The order of agents. `agent` is then the name of the run alone.' },
    input: { ...MESSAGE_CONTENT, description: 'What the user says: text, or parts where media is involved.' },
    messages: { type: 'array', items: CONTENT_ITEM, description: 'The conversation before the input.' },
    deps: { type: 'object', description: 'Data of the run for instructions and tools.' },
    state: { type: 'object', description: 'The state that the run begins with.' },
    principal: { ...PRINCIPAL, description: 'The identity on whose behalf the run acts.' },
    session: { ...SESSION_INPUT_SCHEMA, description: 'The run is a session: it stays open after its answers.' },
    limits: { ...LIMITS, description: 'Overrides limits of the agent.' },
    parent: PARENT_SCHEMA,
    fromCall: FROM_CALL_SCHEMA,
    ...OVERRIDES,
  },
  required: ['agent', 'input'],
  additionalProperties: false,
};

/** The same, for an input that begins with messages. */
const CONTINUING_SCHEMA: JsonObject = { ...RUN_INPUT_SCHEMA, required: ['agent'] };

/** Bytes of JSON that limits may have: enough for a limit for each of a thousand tools. They are carried through the run. */
const LIMITS_BYTES = 64_000;

/** Bytes of JSON that settings may have, because they become part of the snapshot. */
const SETTINGS_BYTES = 16_000;

/** The most problems that a refusal lists. */
const MAX_PROBLEMS = 20;

/** The input of a run, or its problems, each with its path and the expected value. */
type RunInputCheck =
  | { ok: true; input: RunInput }
  /** `lacksInput`: the messages end with an answer, so the user has to say something. */
  | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string; lacksInput?: true };

/** Checks the input of a run, which any Temporal client may have started. Works in the workflow sandbox and never throws. */
export function checkRunInput(value: unknown): RunInputCheck {
  if (value === undefined) {
    return { ok: false, code: 'invalid_input', problem: 'expected an object such as {"agent": "name", "input": "text"}, got nothing' };
  }
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const problems = checkJson(
    isJsonObject(value) && ('messages' in value || 'session' in value) ? CONTINUING_SCHEMA : RUN_INPUT_SCHEMA,
    value,
  );
  if (problems.length === 0 && isRunInput(value)) {
    const { input = '', messages = [], tags = [] } = value;
    problems.push(...mediaProblems(input, 'input'), ...conversationProblems(messages, 'messages'), ...tagProblems(tags));
    if (value.document !== undefined && value.parent === undefined)
      problems.push({
        path: 'document',
        message: 'expected the name of an agent alone: only a program starts an agent that it has itself',
      });
    const isKept = value.parent?.kept === true;
    if (value.session !== undefined && ((value.parent !== undefined && !isKept) || value.flow !== undefined))
      problems.push({ path: 'session', message: 'expected no session: a child and a flow end with their answer' });
    if (isKept && value.session === undefined)
      problems.push({ path: 'parent.kept', message: 'expected a session: the parent keeps no other child between its calls' });
    if (value.fromCall !== undefined && value.parent === undefined)
      problems.push({
        path: 'fromCall',
        message: 'expected no reference to a call: only a run that starts another one refers to its call',
      });
    const inState = value.state === undefined ? undefined : startStateProblem(value.state);
    if (inState !== undefined) problems.push({ path: '', message: inState });
    if (problems.length === 0) return checkOpening(value) ?? checkSizes(value);
  }
  return { ok: false, code: 'invalid_input', problem: problemsText(bounded(problems)) };
}

/** Returns the first problems: each item of a long conversation may have one. */
function bounded(problems: readonly JsonProblem[]): JsonProblem[] {
  const left = problems.length - MAX_PROBLEMS;
  return left <= 1 ? [...problems] : [...problems.slice(0, MAX_PROBLEMS), { path: '', message: `and ${left} more problems` }];
}

/** Checks that a run without input has something to respond to. */
function checkOpening({ input, messages = [], session }: RunInput): RunInputCheck | undefined {
  // A session waits for its first message.
  if (session !== undefined) return undefined;
  if (input !== undefined || (messages.length > 0 && needsResponse(messages))) return undefined;
  const end = messages.length === 0 ? 'are empty' : 'end with an answer of the assistant';
  return { ok: false, code: 'invalid_input', problem: `"messages" ${end}: give "input", what the user says next`, lacksInput: true };
}

/** Checks the sizes of the fields, because a run carries all of them until its end. */
function checkSizes(input: RunInput): RunInputCheck {
  const problems = principalSizeProblem(input.principal);
  const inputBytes = input.input === undefined ? 0 : jsonBytes(input.input);
  const messageBytes = input.messages === undefined ? 0 : jsonBytes(input.messages);
  if (inputBytes > BYTE_BUDGETS.startInput) {
    problems.push(
      `input: ${inputBytes} bytes of JSON, over ${BYTE_BUDGETS.startInput}: pass large media by URL, and long texts through a tool`,
    );
  } else if (inputBytes + messageBytes > BYTE_BUDGETS.startInput) {
    problems.push(
      `messages: ${inputBytes + messageBytes} bytes of JSON together with the input, over ${BYTE_BUDGETS.startInput}: leave out or summarise the oldest`,
    );
  }
  const depsBytes = input.deps === undefined ? 0 : jsonBytes(input.deps);
  if (depsBytes > BYTE_BUDGETS.deps) {
    problems.push(`deps: ${depsBytes} bytes of JSON, over ${BYTE_BUDGETS.deps}: pass ids, and let tools look up the rest`);
  }
  const stateBytes = input.state === undefined ? 0 : jsonBytes(input.state);
  if (stateBytes > BYTE_BUDGETS.state)
    problems.push(`state: ${stateBytes} bytes of JSON, over ${BYTE_BUDGETS.state}: keep less in the state`);
  const documentBytes = input.document === undefined ? 0 : jsonBytes(input.document);
  if (documentBytes > BYTE_BUDGETS.snapshot)
    problems.push(
      `document: ${documentBytes} bytes of JSON, over ${BYTE_BUDGETS.snapshot}: shorten the instructions and the schema of the answer`,
    );
  const limitsBytes = input.limits === undefined ? 0 : jsonBytes(input.limits);
  if (limitsBytes > LIMITS_BYTES) problems.push(`limits: ${limitsBytes} bytes of JSON, over ${LIMITS_BYTES}: name fewer tools`);
  const settingsBytes = input.settings === undefined ? 0 : jsonBytes(input.settings);
  if (settingsBytes > SETTINGS_BYTES) problems.push(`settings: ${settingsBytes} bytes of JSON, over ${SETTINGS_BYTES}: shorten "extra"`);
  return problems.length === 0 ? { ok: true, input } : { ok: false, code: 'payload_too_large', problem: problems.join('; ') };
}

/** Narrows the type of a value that fits the schema. */
function isRunInput(value: unknown): value is RunInput {
  return isJsonObject(value) && typeof value['agent'] === 'string' && ('input' in value || 'messages' in value || 'session' in value);
}

function tagProblems(tags: readonly string[]): JsonProblem[] {
  return tags.flatMap((tag, index) =>
    tags.indexOf(tag) === index
      ? []
      : [{ path: `tags[${index}]`, message: `expected a tag that is not there yet, got ${JSON.stringify(tag)}` }],
  );
}

/**
 * Lists the items because of which a provider would refuse the whole conversation: media without a source, calls with the id of an
 * earlier call, and results that do not belong to the answer before them. A call without a result is no problem: it gets one that
 * says that it was interrupted.
 */
export function conversationProblems(messages: readonly ContentItem[], path: string): JsonProblem[] {
  const called = new Set<string>();
  /** The calls of the last answer that have no result yet. */
  let open = new Set<string>();
  return messages.flatMap((item, index): JsonProblem[] => {
    const at = `${path}[${index}]`;
    if (item.type === 'tool_result') return open.delete(item.toolCallId) ? [] : [{ path: at, message: misplaced(item.toolCallId) }];
    const isSameAnswer = item.type === 'tool_call' && messages[index - 1]?.type !== 'tool_result';
    if (!isSameAnswer) open = new Set();
    if (item.type === 'message') return mediaProblems(item.content, `${at}.content`);
    if (called.has(item.toolCallId)) {
      return [{ path: at, message: `expected a "toolCallId" that no earlier call has, got ${shortJson(item.toolCallId)}` }];
    }
    called.add(item.toolCallId);
    open.add(item.toolCallId);
    return [];
  });
}

function misplaced(callId: string): string {
  return `expected the result of a call in the answer right before it that has none yet, got one of ${shortJson(callId)}`;
}

/** The JSON Schema of the input of a program's run. The document is checked by the activity that pins it, with all its problems at once. */
const PROGRAM_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    program: {
      description: 'The name of a program of the worker, or a program as a document.',
      anyOf: [
        { type: 'string', minLength: 1 },
        {
          type: 'object',
          properties: {
            name: { type: 'string', minLength: 1 },
            units: {
              type: 'array',
              items: { type: 'object', properties: { name: { type: 'string' }, steps: { type: 'array' } }, required: ['name', 'steps'] },
            },
          },
          required: ['version', 'name', 'units'],
        },
      ],
    },
    input: { type: 'object', description: 'The input of the program.' },
    deps: { type: 'object', description: 'Data of the run for tools.' },
    state: { type: 'object', description: 'The state that the run begins with.' },
    principal: { ...PRINCIPAL, description: 'The identity on whose behalf the run acts.' },
    resume: {
      type: 'object',
      description: 'An earlier run whose results are taken over.',
      properties: { run: { type: 'string', minLength: 1 }, from: { type: 'string' } },
      required: ['run'],
      additionalProperties: false,
    },
    limits: LIMITS,
    parent: PARENT_SCHEMA,
    tags: OVERRIDES.tags,
    live: OVERRIDES.live,
  },
  required: ['program'],
  additionalProperties: false,
};

/** The input of a program's run, or its problems. */
type ProgramInputCheck = { ok: true; input: ProgramInput } | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string };

/** Checks the input of a program's run, which any Temporal client may have started. Works in the workflow sandbox and never throws. */
export function checkProgramInput(value: unknown): ProgramInputCheck {
  const tooDeep = inputDepthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const problems = checkJson(PROGRAM_INPUT_SCHEMA, value);
  if (problems.length > 0 || !isProgramInput(value)) return { ok: false, code: 'invalid_input', problem: problemsText(problems) };
  const sizes: [name: string, bytes: number, budget: number][] = [
    ['program', jsonBytes(value.program), BYTE_BUDGETS.startInput],
    ['input', jsonBytes(value.input ?? {}), BYTE_BUDGETS.startInput],
    ['deps', jsonBytes(value.deps ?? {}), BYTE_BUDGETS.deps],
    ['state', jsonBytes(value.state ?? {}), BYTE_BUDGETS.state],
  ];
  const inState = value.state === undefined ? undefined : startStateProblem(value.state);
  if (inState !== undefined) return { ok: false, code: 'invalid_input', problem: inState };
  const [tooLarge] = principalSizeProblem(value.principal);
  if (tooLarge !== undefined) return { ok: false, code: 'payload_too_large', problem: tooLarge };
  const over = sizes.find(([, bytes, budget]) => bytes > budget);
  if (over === undefined) return { ok: true, input: value };
  return { ok: false, code: 'payload_too_large', problem: `"${over[0]}" is ${over[1]} bytes of JSON, over ${over[2]}` };
}

/** Describes the first member of an input that is nested too deeply. A document may be nested deeper than other values. */
function inputDepthProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return depthProblem(value);
  const { program, ...others } = value;
  const { jsonLevels } = PROGRAM_LIMITS;
  if (isTooDeep(program, jsonLevels)) return `program: nested deeper than ${jsonLevels} levels`;
  return depthProblem(others);
}

function isProgramInput(value: unknown): value is ProgramInput {
  return isJsonObject(value) && (typeof value['program'] === 'string' || isJsonObject(value['program']));
}
