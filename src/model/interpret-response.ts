import type { z } from 'zod';
import { isCodeCallId, mayCall } from '../core/code/callable-tools.ts';
import { checkRunCode, RUN_CODE_PARAMETERS } from '../core/code/run-code.ts';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { numberedCallId } from '../core/domain/call-ids.ts';
import { type ContentItem, HOSTED_BOUNDS, type HostedCall, type ToolCall } from '../core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../core/domain/json.ts';
import { type ModelResponse, type OutputVerdict, recordedItems, type RecordedResponse } from '../core/domain/model.ts';
import { writtenNotes } from '../core/domain/notes.ts';
import { boundNotices, type Notice } from '../core/domain/run.ts';
import { oneLine } from '../core/domain/text.ts';
import { FINAL_ANSWER, type FinishReason, RUN_CODE, unknownTool } from '../core/domain/tool-calls.ts';
import { cleanUsage } from '../core/domain/usage.ts';
import { checkJson } from '../core/json-schema/check-json-schema.ts';
import {
  type CheckedArguments,
  declaredNames,
  invalidArguments,
  onlyOne,
  readArguments,
  readBySchema,
  unwrapped,
} from '../core/json-schema/read-by-schema.ts';
import { endedByItself, finishReasonOf, responseFields } from './answer-text.ts';
import { checkAnswerText, checkOutput, checkOutputText, checkSources, type OutputCheck, type TextAnswer } from './check-output.ts';
import { cleanJson, parseJsonText } from './parse-json.ts';

/** The inputs for interpreting a response. */
export interface InterpretOptions {
  snapshot: AgentSnapshot;
  /** The zod schema of the answer, if this worker has the agent. */
  outputZod?: z.ZodType | undefined;
  /** Returns whether an earlier call of the run has an id. */
  isUsedCallId: (id: string) => boolean;
  /** The id of the call that a text-only answer represents. Default: a new one. */
  replyId?: string;
  /** The id of the event that records the response. */
  eventId: string;
  /** The most bytes of JSON of provider items with the answer. Default: what fits into an event. */
  mostItemBytes?: number | undefined;
  /** Creates the ids of calls that have none. */
  uuid: () => string;
}

/** A call in its recorded form, with the reason why it must not run, if any. */
interface CheckedCall {
  call: ToolCall;
  problem?: string;
  /** The text that the model wrote as arguments, if the call does not have them. */
  written?: string | undefined;
  /** The verdict for a `final_answer` whose output fits. */
  verdict?: OutputVerdict;
}

/**
 * Returns a model's response in its recorded form: every call named, identified and checked, so that the
 * workflow decides from recorded data alone. A model's mistake becomes a problem for the model to read. Nothing in
 * the response is trusted, and this never throws. Calls of tools that the agent does not have are left to the loop.
 */
export function interpretResponse(response: ModelResponse, options: InterpretOptions): RecordedResponse {
  const fields = responseFields(response);
  const structured = typeof fields.structured === 'object' ? (cleanJson(fields.structured) ?? undefined) : undefined;
  const content = typeof fields.content === 'string' ? fields.content.toWellFormed() : '';
  const text = content === '' && structured !== undefined ? JSON.stringify(structured) : content;
  const complete = endedByItself(fields.finishReason);
  const calls = checkCalls(listOf(fields.toolCalls), complete, options);

  const message: ContentItem[] = text !== '' || calls.length === 0 ? [{ type: 'message', role: 'assistant', content: text }] : [];
  const problems = calls.flatMap(({ call, problem }) => (problem === undefined ? [] : [[call.toolCallId, problem]]));
  const injections = writtenNotes(
    calls.flatMap(({ call, written }) => (written === undefined ? [] : [[call.toolCallId, written] as const])),
  );
  const output = calls.length > 0 ? finalAnswerVerdict(calls, options) : textVerdict({ text, structured, complete }, options);
  const refusal = refusalOf(fields, text);
  const confidence = cleanConfidence(fields.confidence);
  const isRenamed = listOf(fields.toolCalls).some((raw, index) => nameIn(raw) !== calls[index]?.call.name);
  const { items, notices: ofItems } = itemsOf(isRenamed ? withoutItems(fields) : fields, options);
  const notices = boundNotices([...cleanNotices(fields.notices), ...ofItems]);
  const sources = checkSources(fields.sources, text);
  return {
    id: options.eventId,
    content: [...message, ...calls.map(({ call }) => call)],
    finishReason: cleanFinishReason(fields.finishReason, calls.length > 0),
    usage: cleanUsage(fields.usage),
    // Call ids come from models and may be `__proto__`: fromEntries turns every key into a plain own property.
    ...(problems.length === 0 ? {} : { problems: Object.fromEntries(problems) }),
    ...defined({ injections, output }),
    ...(refusal === '' ? {} : { refusal }),
    ...defined({ confidence }),
    ...(items.length === 0 ? {} : { providerItems: items }),
    ...(sources.length === 0 ? {} : { sources }),
    ...(notices.length === 0 ? {} : { notices }),
    ...warningsOf(fields),
    ...hostedCallsOf(fields),
  };
}

/** Returns the text of the model's refusal. If only the finish reason reports a refusal, it is the text of the answer. */
function refusalOf({ refusal, finishReason, toolCalls }: Partial<Record<keyof ModelResponse, unknown>>, text: string): string {
  if (typeof refusal === 'string' && refusal !== '') return refusal.toWellFormed();
  const refused = typeof finishReason === 'string' && finishReasonOf(finishReason) === 'refusal' && listOf(toolCalls).length === 0;
  return refused ? text || 'it gave no reason' : '';
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? [...value] : [];
}

function checkCalls(rawCalls: unknown[], complete: boolean, options: InterpretOptions): CheckedCall[] {
  const taken = new Set<string>();
  const { isUsedCallId, snapshot } = options;
  const isTaken = (id: string): boolean => taken.has(id) || isUsedCallId(id) || (snapshot.code !== undefined && isCodeCallId(id));
  return rawCalls.map((raw) => {
    const parsed = parseToolCall(raw, { complete, uuid: options.uuid });
    const toolCallId = unusedId(parsed.toolCallId, isTaken);
    taken.add(toolCallId);
    const { args, ...rest } = checkCall(parsed, options);
    const isRead = rest.problem === undefined && parsed.problem === undefined && isKnown(parsed.name, options);
    const written = isRead || Object.keys(args).length > 0 ? undefined : parsed.written;
    return { call: { type: 'tool_call', toolCallId, name: parsed.name, arguments: args }, ...rest, written };
  });
}

function isKnown(name: string, { snapshot: { tools } }: InterpretOptions): boolean {
  return name === FINAL_ANSWER || name === RUN_CODE || tools.some((tool) => tool.name === name);
}

/** Returns the id, with a number appended if another call has it or may get it. */
function unusedId(id: string, isTaken: (id: string) => boolean): string {
  let unused = id;
  for (let number = 2; isTaken(unused); number += 1) unused = numberedCallId(id, number);
  return unused;
}

interface Checked extends CheckedArguments {
  verdict?: OutputVerdict;
}

function checkCall(parsed: ParsedToolCall, options: InterpretOptions): Checked {
  const { name, arguments: args } = parsed;
  const { snapshot } = options;
  if (isFinalAnswer(name, options)) return checkFinalAnswer(parsed, options);
  if (name === RUN_CODE && snapshot.code !== undefined)
    return unreadable(parsed, RUN_CODE_PARAMETERS) ?? checkRunCode(sentArguments(parsed));
  const tool = snapshot.tools.find((one) => one.name === name);
  if (tool === undefined) return { args };
  // The loop has the tool, because code may call it.
  if (!mayCall('model', tool)) return { args, problem: unknownTool(name) };
  return unreadable(parsed, tool.schema) ?? readArguments(tool, sentArguments(parsed));
}

/** Returns a call with unreadable arguments together with the problem; undefined for any other. */
function unreadable(parsed: ParsedToolCall, schema: JsonObject): CheckedArguments | undefined {
  const { arguments: args, problem, isBare } = parsed;
  if (problem !== undefined) return { args, problem };
  return isBare && mayHaveFields(schema) ? { args, problem: MISSING_ARGUMENTS } : undefined;
}

/** Returns the arguments of a call as the model sent them, which need not be an object. */
function sentArguments({ arguments: args, notAnObject }: ParsedToolCall): JsonValue {
  return notAnObject === undefined ? args : notAnObject;
}

/** False if the schema obviously accepts only `{}`: missing arguments were then not cut off. */
function mayHaveFields({
  type: _,
  title: __,
  description: ___,
  $schema: ____,
  properties,
  required,
  additionalProperties,
  ...others
}: JsonObject): boolean {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  if (!isEmpty(properties) || !isEmpty(required) || Object.keys(others).length > 0) return true;
  return additionalProperties !== undefined && additionalProperties !== false;
}

function isFinalAnswer(name: string, { snapshot }: InterpretOptions): boolean {
  return name === FINAL_ANSWER && snapshot.output?.mode === 'final_answer';
}

function checkFinalAnswer(parsed: ParsedToolCall, options: InterpretOptions): Checked {
  const args = parsed.arguments;
  const unread = unreadable(parsed, { required: ['output'] });
  if (unread !== undefined) return unread;
  const check = outputCheck(options);
  const output = Object.hasOwn(args, 'output') ? args['output'] : undefined;
  const verdict = output === undefined ? undefined : checkOutput(output, check);
  if (verdict !== undefined && verdict.type !== 'problem') return { args, verdict };
  const sent = sentArguments(parsed);
  const read = readFinalAnswer(sent, check);
  if (read !== undefined) return { args: { output: read }, verdict: checkOutput(read, check) };
  const missing = isJsonObject(sent)
    ? 'missing required field "output"'
    : `expected object, got ${Array.isArray(sent) ? 'array' : typeof sent}`;
  return { args, problem: invalidArguments(FINAL_ANSWER, verdict?.problem ?? missing) };
}

/**
 * Returns the answer in a call of `final_answer` with another form than requested, if only one reading fits: in a wrapper, as text, or as
 * the arguments themselves. The last one is no evidence if the schema accepts an empty object, since it then accepts most others.
 */
function readFinalAnswer(sent: JsonValue, check: OutputCheck): JsonValue | undefined {
  const { schema } = check;
  const takesAll = checkJson(schema, {}).length === 0;
  const answers = unwrapped(FINAL_ANSWER, sent, new Set(['output', ...declaredNames(schema)])).flatMap((one) => [
    ...(isJsonObject(one) && Object.hasOwn(one, 'output') ? [one['output'] ?? null] : []),
    ...(takesAll ? [] : [one]),
  ]);
  const read = answers.map((answer) => readBySchema(schema, answer));
  return onlyOne(read.filter((answer) => checkOutput(answer, check).type !== 'problem'));
}

/** Returns the verdict on the first `final_answer` that fits, which ends the run. */
function finalAnswerVerdict(calls: CheckedCall[], options: InterpretOptions): OutputVerdict | undefined {
  const answers = calls.filter(({ call }) => isFinalAnswer(call.name, options));
  const fitting = answers.find(({ verdict }) => verdict !== undefined)?.verdict;
  if (fitting !== undefined || answers[0]?.problem === undefined) return fitting;
  return { type: 'problem', problem: answers[0].problem };
}

/** Returns the verdict on an answer without tool calls, if the agent has an output schema. */
function textVerdict(answer: TextAnswer, options: InterpretOptions): OutputVerdict | undefined {
  const { output } = options.snapshot;
  if (output === undefined) return undefined;
  return output.mode === 'schema' ? checkOutputText(answer, outputCheck(options)) : checkAnswerText(answer, outputCheck(options));
}

function outputCheck({ snapshot, outputZod }: InterpretOptions): OutputCheck {
  return { schema: snapshot.output?.schema ?? {}, zod: outputZod };
}

/** Returns the finish reason as a short text, derived from the content if the provider sent none. */
function cleanFinishReason(reason: unknown, hasToolCalls: boolean): FinishReason {
  if (typeof reason === 'string' && reason.trim() !== '') return finishReasonOf(reason).slice(0, 64).toWellFormed();
  return hasToolCalls ? 'tool_calls' : 'stop';
}

/** The most bytes of JSON of provider items in an event. Each later request of the run repeats them. */
export const MOST_ITEM_BYTES = 256_000;

/** The longest name of an account. */
const MOST_ACCOUNT_LENGTH = 64;

/** Drops the provider items of an answer whose calls were renamed: a provider signs a call with its name. */
function withoutItems<Fields extends Partial<Record<keyof ModelResponse, unknown>>>(fields: Fields): Fields {
  return !Array.isArray(fields.providerItems) ? fields : { ...fields, providerItems: [] };
}

/** Returns the provider items in their recorded form, and a notice if they are too large to be kept. */
function itemsOf(
  fields: Partial<Record<keyof ModelResponse, unknown>>,
  { snapshot: { model }, mostItemBytes = MOST_ITEM_BYTES }: InterpretOptions,
): { items: JsonValue[]; notices: Notice[] } {
  const items = listOf(fields.providerItems)
    .map(cleanJson)
    .filter((item) => item !== undefined);
  // An empty list records that the answer had some.
  if (items.length === 0) return { items: Array.isArray(fields.providerItems) ? recordedItems({ by: model }, []) : [], notices: [] };
  const bytes = jsonBytes(items);
  if (bytes > mostItemBytes) {
    const message = `The reasoning and the signatures of this answer were left out: ${bytes} bytes of JSON, over ${mostItemBytes}. The provider does not get them back.`;
    return { items: recordedItems({ by: model }, []), notices: [{ code: 'request_adapted', message }] };
  }
  const account = typeof fields.account === 'string' ? { account: fields.account.slice(0, MOST_ACCOUNT_LENGTH).toWellFormed() } : {};
  return { items: recordedItems({ by: model, ...account }, items), notices: [] };
}

/** The most warnings of one answer, and the most bytes of each. */
const MOST_WARNINGS = 5;
const WARNING_BYTES = 200;

/** Returns the provider's warnings about the request. The last one counts those that are left out. */
function warningsOf({ warnings: given }: Partial<Record<keyof ModelResponse, unknown>>): { warnings?: string[] } {
  const texts = listOf(given).flatMap((one) => (typeof one === 'string' && one.trim() !== '' ? [one.toWellFormed()] : []));
  const warnings = [...new Set(texts.map((text) => oneLine(text, WARNING_BYTES)))];
  if (warnings.length === 0) return {};
  const kept = warnings.length <= MOST_WARNINGS ? warnings : warnings.slice(0, MOST_WARNINGS - 1);
  return { warnings: [...kept, ...(kept.length < warnings.length ? [`and ${warnings.length - kept.length} more`] : [])] };
}

/** Returns the calls of hosted tools, which the provider has made. */
function hostedCallsOf({ hosted: given }: Partial<Record<keyof ModelResponse, unknown>>): { hosted?: HostedCall[] } {
  const hosted = listOf(given)
    .slice(0, HOSTED_BOUNDS.calls)
    .flatMap((one): HostedCall[] => {
      const { name, input, isError } = fieldsOf(one);
      if (typeof name !== 'string') return [];
      const text = filledText(input);
      return [
        {
          name: name.slice(0, MAX_NAME_LENGTH).toWellFormed(),
          ...(text === undefined ? {} : { input: oneLine(text, HOSTED_BOUNDS.inputBytes) }),
          ...(isError === true ? { isError } : {}),
        },
      ];
    });
  return hosted.length === 0 ? {} : { hosted };
}

function cleanNotices(given: unknown): Notice[] {
  return listOf(given).flatMap((one): Notice[] => {
    const { code, message } = typeof one === 'object' && one !== null ? (one as Partial<Record<keyof Notice, unknown>>) : {};
    return typeof code === 'string' && typeof message === 'string'
      ? [{ code: code as Notice['code'], message: message.toWellFormed() }]
      : [];
  });
}

/** Returns the confidence if it is a number from 0 to 1. */
function cleanConfidence(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value + 0 : undefined;
}

/** A tool call, read from any of its shapes. */
interface ParsedToolCall {
  toolCallId: string;
  name: string;
  /** The arguments; empty if the model sent none or unreadable ones. */
  arguments: JsonObject;
  /** The reason why the arguments could not be read, for the model. Such a call must not run. */
  problem?: string;
  /** The JSON value that the model sent instead of an object. */
  notAnObject?: JsonValue;
  /** The text of arguments that are not an object of JSON. */
  written?: string;
  /** True if the model sent no arguments: they may have been cut off, unless the tool takes none. */
  isBare?: true;
}

/** Options for reading a tool call. */
interface ParseOptions {
  /**
   * False if the answer was cut off: arguments are then not repaired, and missing ones are not read as `{}`.
   * Default true.
   */
  complete?: boolean;
  /** Creates the id of a call that has none. */
  uuid?: () => string;
}

/** The result of a call whose arguments are not JSON. */
export const INVALID_JSON = 'Error: tool arguments were not valid JSON. Please retry with a JSON object.';

/** The result of a call without arguments, of a tool that takes some. */
const MISSING_ARGUMENTS = `${INVALID_JSON} (They are missing. Call again with the complete arguments, or with {} if you mean none.)`;

/** The longest id that providers accept when it is sent back. */
const MAX_ID_LENGTH = 64;

/** The longest tool name of any provider: a longer one is unknown. */
const MAX_NAME_LENGTH = 128;

/**
 * Reads a tool call in any of the shapes that model clients deliver: our own content item, `{id, function: {name,
 * arguments}}`, a flat dictionary, or a class instance. A missing name becomes `unknown`, a missing id a new one, and
 * arguments that are not an object `{}`. Arguments that end in the middle, and missing ones in an answer that was cut off,
 * become a problem, whatever the finish reason says about the former. Never throws.
 */
export function parseToolCall(shape: unknown, options: ParseOptions = {}): ParsedToolCall {
  const { complete = true, uuid = () => crypto.randomUUID() } = options;
  const outer = fieldsOf(shape);
  const inner = fieldsOf(outer['function']);
  const id = [outer['toolCallId'], outer['tool_call_id'], outer['id'], outer['call_id'], outer['callId']]
    .map(filledText)
    .find((one) => one !== undefined);
  return {
    toolCallId: id !== undefined && id.length <= MAX_ID_LENGTH ? id : uuid(),
    name: cleanName(nameIn(shape) ?? 'unknown'),
    ...parseArguments(inner['arguments'] ?? outer['arguments'] ?? outer['args'], complete),
  };
}

/** Returns the name of a tool call in any of its shapes, as the model gave it; undefined if it has none. */
function nameIn(shape: unknown): string | undefined {
  const outer = fieldsOf(shape);
  const inner = fieldsOf(outer['function']);
  return filledText(outer['name']) ?? filledText(inner['name']) ?? filledText(outer['toolName']) ?? filledText(outer['tool_name']);
}

type ParsedArguments = Omit<ParsedToolCall, 'toolCallId' | 'name'>;

function parseArguments(raw: unknown, complete: boolean): ParsedArguments {
  if (raw === undefined || raw === null) return noArguments(complete);
  if (typeof raw === 'string') return parseText(raw, complete);
  const value = cleanJson(raw);
  if (value === undefined)
    return {
      arguments: {},
      problem: `${INVALID_JSON} (The value cannot be written as JSON, or is nested deeper than ${MAX_JSON_DEPTH} levels.)`,
    };
  return isJsonObject(value) ? { arguments: value } : { arguments: {}, notAnObject: value, written: JSON.stringify(value) };
}

/** Returns empty arguments: with a problem if the provider says that the answer was cut off. */
function noArguments(complete: boolean): ParsedArguments {
  const cut = complete ? {} : { problem: `${INVALID_JSON} (They are empty, and the answer was cut off.)` };
  return { arguments: {}, isBare: true, ...cut };
}

function parseText(raw: string, complete: boolean): ParsedArguments {
  if (raw.trim() === '') return noArguments(complete);
  const parsed = parseJsonText(raw, complete);
  if (!parsed.ok) return { arguments: {}, problem: `${INVALID_JSON} (${parsed.problem})`, written: raw };
  if (isJsonObject(parsed.value)) return { arguments: parsed.value };
  if (parsed.value === null) return noArguments(complete);
  // Quoted prose is not intended as JSON.
  if (parsed.repaired) return { arguments: {}, problem: INVALID_JSON, written: raw };
  return { arguments: {}, notAnObject: parsed.value, written: raw };
}

/** Returns the fields of any object; none for another value. */
function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}

/** Returns a non-empty text, well-formed. */
function filledText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined;
}

/** Returns the name without the markup that some models append: everything from the first quotation mark on. */
function cleanName(name: string): string {
  const [before = ''] = name.split('"', 1);
  return (before.trim() === '' ? name : before.trim()).slice(0, MAX_NAME_LENGTH).toWellFormed();
}
