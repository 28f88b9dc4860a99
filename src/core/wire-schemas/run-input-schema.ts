import type { ContentItem } from '../domain/content/content.ts';
import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { depthProblem } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../domain/json/json.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import { needsResponse } from '../domain/record/needs-response.ts';
import { startStateProblem } from '../domain/record/state-problem.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/short-json.ts';
import type { RunInput } from '../protocol.ts';
import { AGENT_DOCUMENT_SCHEMA } from './agent-document-schema.ts';
import { CONTENT_ITEM, mediaProblems, MESSAGE_CONTENT } from './content-item-schema.ts';
import { FLOW_INPUT_SCHEMA } from './flow-schema.ts';
import { LIMITS_SCHEMA } from './limits-schema.ts';
import { OVERRIDES } from './overrides-schema.ts';
import { FROM_CALL_SCHEMA, PARENT_SCHEMA } from './parent-schema.ts';
import { PRINCIPAL_SCHEMA, principalSizeProblem } from './principal-schema.ts';
import { SESSION_INPUT_SCHEMA } from './requests/session-schema.ts';

/** The JSON Schema of the input of a run. */
export const RUN_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    agent: { type: 'string', minLength: 1, description: 'The name of the agent.' },
    document: AGENT_DOCUMENT_SCHEMA,
    flow: { ...FLOW_INPUT_SCHEMA, description: 'The order of agents. `agent` is then the name of the run alone.' },
    input: {
      description: 'What the user says: text, or parts where media is involved.',
      anyOf: [...MESSAGE_CONTENT],
    },
    messages: { type: 'array', items: CONTENT_ITEM, description: 'The conversation before the input.' },
    deps: { type: 'object', description: 'Data of the run for instructions and tools.' },
    state: { type: 'object', description: 'The state that the run begins with.' },
    principal: { ...PRINCIPAL_SCHEMA, description: 'Whom the run acts for.' },
    session: { ...SESSION_INPUT_SCHEMA, description: 'The run is a session: it stays open after its answers.' },
    limits: { ...LIMITS_SCHEMA, description: 'Overrides limits of the agent.' },
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
