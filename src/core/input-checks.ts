import type { Decision } from './domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from './domain/byte-budgets.ts';
import { type ContentItem, type ContentPart, isBlank, needsResponse } from './domain/content.ts';
import { startStateProblem } from './domain/deps.ts';
import type { ErrorCode } from './domain/errors.ts';
import { depthProblem, isJsonObject, isTooDeep, type JsonObject } from './domain/json.ts';
import { PROGRAM_LIMITS } from './domain/program-document.ts';
import { PROGRAM_INPUT, type ProgramInput } from './domain/program-run.ts';
import {
  APPROVE,
  CANCEL,
  CLOSE,
  INTERRUPT,
  NEXT_TURN,
  type NextTurnInput,
  RAISE,
  RAISE_SESSION,
  REJECT,
  RESPOND,
  REVOKE,
  SEND,
  type SendInput,
} from './domain/requests.ts';
import { CONTINUING_INPUT, RUN_INPUT, type RunInput } from './domain/run-input.ts';
import { absentNameProblem, PRINCIPAL, type Principal, unknownPrincipalField } from './domain/run.ts';
import { checkJson, type JsonProblem, problemsText } from './json-schema/check-json-schema.ts';
import { propertiesOf, shortJson } from './json-schema/json-schema.ts';

/** Describes the problem of a message to a run, or returns undefined. Works in the workflow sandbox and never throws. */
export function messageProblem(value: unknown): { code: ErrorCode; message: string } | undefined {
  if (value === undefined) return { code: 'invalid_input', message: 'expected {"id": "your own", "content": "text"}, got nothing' };
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { code: 'invalid_input', message: tooDeep };
  const problems = checkJson(SEND, value);
  if (problems.length === 0)
    problems.push(...mediaProblems((value as SendInput).content, 'content'), ...blankProblems((value as SendInput).content, 'content'));
  if (problems.length > 0) return { code: 'invalid_input', message: problemsText(problems) };
  const bytes = jsonBytes((value as SendInput).content);
  if (bytes <= BYTE_BUDGETS.message) return undefined;
  const message = `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}: pass large media by URL, or send it in parts`;
  return { code: 'payload_too_large', message };
}

const DECISIONS: Record<Decision['type'], JsonObject> = { approve: APPROVE, reject: REJECT, respond: RESPOND };

/**
 * Describes the problem of a decision, or returns undefined. Like the functions below, it works in the workflow sandbox and never throws.
 */
export function decisionProblem(type: Decision['type'], value: unknown): string | undefined {
  return requestProblem(DECISIONS[type], value);
}

/** Describes the problem of a request to raise limits. */
export function raiseProblem(value: unknown): string | undefined {
  return requestProblem(isJsonObject(value) && 'session' in value ? RAISE_SESSION : RAISE, value);
}

/** Describes the problem of a request to revoke a decision. */
export function revokeProblem(value: unknown): string | undefined {
  return requestProblem(REVOKE, value);
}

/** Describes the problem of a request to cancel. */
export function cancelProblem(value: unknown): string | undefined {
  return requestProblem(CANCEL, value);
}

/** Describes the problem of a request according to its argument's schema. */
export function requestProblem(schema: JsonObject, value: unknown): string | undefined {
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return tooDeep;
  const problems = checkJson(schema, value);
  return problems.length === 0 ? undefined : problemsText(problems);
}

/** Describes the problem of a request to interrupt a turn. */
export function interruptProblem(value: unknown): string | undefined {
  return requestProblem(INTERRUPT, value);
}

/** Describes the problem of a request to close a session. */
export function closeProblem(value: unknown): string | undefined {
  return requestProblem(CLOSE, value);
}

/** Describes the problem of a parent's message to a kept session. */
export function nextTurnProblem(value: unknown): string | undefined {
  const problem = requestProblem(NEXT_TURN, value);
  if (problem !== undefined) return problem;
  const { content } = value as NextTurnInput;
  const [blank] = content === undefined ? [] : blankProblems(content, 'content');
  if (blank !== undefined) return problemsText([blank]);
  const bytes = jsonBytes(content ?? '');
  return bytes <= BYTE_BUDGETS.message ? undefined : `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}`;
}

/** The maximum bytes of JSON of limits: enough for the limits of a thousand tools. A run carries them until its end. */
const LIMITS_BYTES = 64_000;

/** The maximum bytes of JSON of settings, which become part of the snapshot. */
const SETTINGS_BYTES = 16_000;

/** The maximum number of problems listed in a refusal. */
const MAX_PROBLEMS = 20;

/** The input of a run, or its problems, each with its path and the expected value. */
type RunInputCheck =
  | { ok: true; input: RunInput }
  /** `lacksInput`: the messages end with an answer, so the user must say something. */
  | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string; lacksInput?: true };

/** Checks the input of a run, which any Temporal client may have sent. Works in the workflow sandbox and never throws. */
export function checkRunInput(value: unknown): RunInputCheck {
  if (value === undefined) {
    return { ok: false, code: 'invalid_input', problem: 'expected an object such as {"agent": "name", "input": "text"}, got nothing' };
  }
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const schema = isJsonObject(value) && ('messages' in value || 'session' in value) ? CONTINUING_INPUT : RUN_INPUT;
  const problems = checkMembers(schema, value);
  if (problems.length === 0 && isRunInput(value)) {
    const { input = '', messages = [], tags = [] } = value;
    problems.push(...mediaProblems(input, 'input'), ...conversationProblems(messages, 'messages'), ...tagProblems(tags));
    // The whole of such an input is in the call.
    if (value.input !== undefined && value.fromCall?.input !== true) problems.push(...blankProblems(input, 'input'));
    if (value.document !== undefined && value.parent === undefined)
      problems.push({
        path: 'document',
        message: 'expected only the name of an agent: only a program starts an agent given as a document',
      });
    const isKept = value.parent?.kept === true;
    if (value.session !== undefined && ((value.parent !== undefined && !isKept) || value.flow !== undefined))
      problems.push({ path: 'session', message: 'expected no session: a child and a flow end with their answer' });
    if (isKept && value.session === undefined)
      problems.push({ path: 'parent.kept', message: 'expected a session: the parent keeps no other child between its calls' });
    if (value.fromCall !== undefined && value.parent === undefined)
      problems.push({
        path: 'fromCall',
        message: 'expected no reference to a call: only a parent refers to its call',
      });
    const inState = value.state === undefined ? undefined : startStateProblem(value.state);
    if (inState !== undefined) problems.push({ path: '', message: inState });
    if (problems.length === 0) return checkOpening(value) ?? checkSizes(value);
  }
  return { ok: false, code: 'invalid_input', problem: problemsText(bounded(problems)) };
}

/** Schemas without the members that a value lacks, by the schema and the names of the value's members. */
const smaller = new WeakMap<JsonObject, Map<string, JsonObject>>();

/** The maximum number of such schemas kept per schema. */
const MOST_SMALLER = 100;

/**
 * Checks the value of an object schema like `checkJson`. A workflow prepares a schema anew for each run, and an input's schema is large,
 * while most inputs have few of its members: the others are prepared only for a value that does not fit.
 */
function checkMembers(schema: JsonObject, value: unknown): JsonProblem[] {
  const has = isJsonObject(value) && checkJson(schemaOfMembers(schema, value), value).length === 0;
  return has ? [] : checkJson(schema, value);
}

/** Returns the schema without the properties that a value lacks. */
function schemaOfMembers(schema: JsonObject, value: JsonObject): JsonObject {
  const properties = Object.entries(propertiesOf(schema)).filter(([name]) => Object.hasOwn(value, name));
  const names = properties.map(([name]) => name).join();
  const known = smaller.get(schema) ?? new Map<string, JsonObject>();
  smaller.set(schema, known);
  const made = known.get(names) ?? { ...schema, properties: Object.fromEntries(properties) };
  if (known.size < MOST_SMALLER) known.set(names, made);
  return made;
}

/** Returns the first problems, because each item of a long conversation may have one. */
function bounded(problems: readonly JsonProblem[]): JsonProblem[] {
  const left = problems.length - MAX_PROBLEMS;
  return left <= 1 ? [...problems] : [...problems.slice(0, MAX_PROBLEMS), { path: '', message: `and ${left} more problems` }];
}

/** Returns the problem of content that says nothing: it would cost a model call, and be a turn of the user. */
function blankProblems(content: string | readonly ContentPart[], path: string): JsonProblem[] {
  if (!isBlank(content)) return [];
  return [{ path, message: `expected a text or media, got ${content === '' ? 'an empty text' : 'only white space'}` }];
}

/** Checks that a run without input has something to respond to. */
function checkOpening({ input, messages = [], session }: RunInput): RunInputCheck | undefined {
  // A session waits for its first message.
  if (session !== undefined) return undefined;
  if (input !== undefined) return undefined;
  const last = messages.at(-1);
  const [blank] = last?.type === 'message' && last.role === 'user' ? blankProblems(last.content, `messages[${messages.length - 1}]`) : [];
  if (blank !== undefined) return { ok: false, code: 'invalid_input', problem: problemsText([blank]) };
  if (messages.length > 0 && needsResponse(messages)) return undefined;
  const end = messages.length === 0 ? 'are empty' : 'end with an answer of the assistant';
  return { ok: false, code: 'invalid_input', problem: `"messages" ${end}: give "input", what the user says next`, lacksInput: true };
}

/** Checks the sizes of fields that a run carries until its end. */
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
      `messages: ${inputBytes + messageBytes} bytes of JSON together with the input, over ${BYTE_BUDGETS.startInput}: leave out or summarize the oldest`,
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
      : [{ path: `tags[${index}]`, message: `expected a tag that is not listed yet, got ${JSON.stringify(tag)}` }],
  );
}

/**
 * Lists the items that would make a provider refuse the whole conversation: media without a source, calls with the id of an earlier call,
 * and results that do not belong to the preceding answer. A call without a result is allowed: it gets a result that says it was
 * interrupted.
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
    if (item.type === 'message') return mediaProblems(item.content, `${at}.content`, { ofModel: item.role === 'assistant' });
    if (called.has(item.toolCallId)) {
      return [{ path: at, message: `expected a "toolCallId" that no earlier call has, got ${shortJson(item.toolCallId)}` }];
    }
    called.add(item.toolCallId);
    open.add(item.toolCallId);
    return [];
  });
}

function misplaced(callId: string): string {
  return `expected the result of an unanswered call in the preceding answer, got the result of ${shortJson(callId)}`;
}

/** The input of a program's run, or its problems. */
type ProgramInputCheck = { ok: true; input: ProgramInput } | { ok: false; code: 'invalid_input' | 'payload_too_large'; problem: string };

/** Checks the input of a program's run, which any Temporal client may have sent. Works in the workflow sandbox and never throws. */
export function checkProgramInput(value: unknown): ProgramInputCheck {
  const tooDeep = inputDepthProblem(value);
  if (tooDeep !== undefined) return { ok: false, code: 'invalid_input', problem: tooDeep };
  const problems = checkMembers(PROGRAM_INPUT, value);
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

/** The maximum bytes of JSON of a principal: a run carries it, and passes it to each child. */
const PRINCIPAL_BYTES = 8_000;

/** Returns the problem of a principal that is too large, or an empty list. */
function principalSizeProblem(principal: Principal | undefined): string[] {
  const bytes = principal === undefined ? 0 : jsonBytes(principal);
  return bytes > PRINCIPAL_BYTES
    ? [`principal: ${bytes} bytes of JSON, over ${PRINCIPAL_BYTES}: pass ids as claims, and let tools look up the rest`]
    : [];
}

/**
 * Lists the media parts that do not have exactly one source. `path` leads to the content. Only media made by a model may be in a payload
 * store: otherwise a caller could refer to other users' content.
 */
function mediaProblems(content: string | readonly ContentPart[], path: string, { ofModel = false } = {}): JsonProblem[] {
  if (typeof content === 'string') return [];
  return content.flatMap((one, index) => {
    if (one.type === 'text') return [];
    const at = `${path}[${index}]`;
    const given = [one.url, one.data].filter((source) => source !== undefined).length;
    if (one.spilled !== undefined && (!ofModel || given > 0)) {
      return [{ path: at, message: 'expected "url" or "data", got "spilled": only a file that a model has made is in a payload store' }];
    }
    if (given === 1 || one.spilled !== undefined) return [];
    return [{ path: at, message: `expected exactly one of "url" and "data", got ${one.url === undefined ? 'neither' : 'both'}` }];
  });
}

/** Returns why a value is not a principal with recordable names, or undefined: an unpaired surrogate would become a different name. */
export function principalProblem(value: unknown): string | undefined {
  const absent = absentNameProblem(value);
  if (absent !== undefined) return absent;
  const unknown = isJsonObject(value) ? unknownPrincipalField(value) : undefined;
  if (unknown !== undefined) return `"principal": ${unknown}`;
  const problems = isJsonObject(value) ? checkJson(PRINCIPAL, value) : [{ path: '', message: 'expected an object' }];
  if (problems.length > 0) return `"principal": ${problemsText(problems)}`;
  const { tenant = '', user = '' } = value as Principal;
  if (tenant.isWellFormed() && user.isWellFormed()) return undefined;
  return '"principal" has an unpaired surrogate in a name: write a text of whole characters';
}

/** The beginning of an execution, as recorded by Temporal. */
export interface ExecutionOrigin {
  /** The previous execution; undefined for the first one. */
  continuedFrom?: string | undefined;
  cronSchedule?: string | undefined;
  /** The attempt number under a retry policy of the workflow. 1-based. */
  attempt: number;
}

/**
 * Returns why an execution cannot have received its state from the previous one, or undefined. The state itself is not checked further:
 * only a workflow's code can continue as new. A first execution, a cron execution and a retry have a caller's input.
 */
export function originProblem({ continuedFrom, cronSchedule, attempt }: ExecutionOrigin): string | undefined {
  if (continuedFrom === undefined) return 'this is a first execution';
  if (cronSchedule !== undefined && cronSchedule !== '') return 'this one was started by a cron schedule';
  return attempt > 1 ? `this one is attempt ${attempt} of a retry policy` : undefined;
}
