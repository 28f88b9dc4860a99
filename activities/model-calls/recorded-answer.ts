import { getClient, log } from '@temporalio/activity';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { type ContentItem, type ContentPart, isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import { errorMessage, LonghaulError, ModelCallError } from '../../src/core/domain/errors.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import type { ModelCallContext, ModelFile, ModelResponse, RecordedResponse } from '../../src/core/domain/model.ts';
import { writtenNotes } from '../../src/core/domain/notes.ts';
import { boundNotices } from '../../src/core/domain/run.ts';
import { counted } from '../../src/core/domain/text.ts';
import { FINAL_ANSWER } from '../../src/core/domain/tool-calls.ts';
import { responseFields } from '../../src/model/answer-text.ts';
import { readSpilled, spill } from '../../src/stores/payload-store.ts';
import { currentRun } from '../attempts/attempt.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Smaller responses cannot exceed any budget. */
const SMALL = Math.min(BYTE_BUDGETS.modelText, BYTE_BUDGETS.toolArguments);

/**
 * Returns a response that can be recorded. Arguments over a call's budget, and those that exceed the budget of the
 * response, are left out: such a call must not run, and the model reads why; the rest of the response is kept. Other
 * content cannot be left out without changing its meaning: over its budget, this throws `payload_too_large` with the
 * name of the model. That is not retried, because another call would cost the same and most likely end the same.
 */
export function limitResponseSize(response: RecordedResponse, model: string): RecordedResponse {
  const brief = briefProblems(response);
  const bytes = jsonBytes(brief);
  if (bytes <= SMALL) return brief;
  const otherBytes = jsonBytes(withoutArguments(brief, () => true));
  if (otherBytes > BYTE_BUDGETS.modelText && (brief.providerItems?.length ?? 0) > 1) return limitResponseSize(withoutItems(brief), model);
  if (otherBytes > BYTE_BUDGETS.modelText && brief.sources !== undefined) return limitResponseSize(withoutSources(brief), model);
  if (otherBytes > BYTE_BUDGETS.modelText && brief.injections !== undefined) return limitResponseSize(withoutInjections(brief), model);
  if (otherBytes > BYTE_BUDGETS.modelText) throw responseTooLarge(model, otherBytes, BYTE_BUDGETS.modelText);
  const dropped = callsToDrop(brief, bytes);
  if (dropped.size === 0) return brief;
  const fitting = withProblems(
    withoutArguments(brief, (call) => dropped.has(call)),
    dropped,
  );
  const fittingBytes = jsonBytes(fitting);
  if (fittingBytes > BYTE_BUDGETS.modelResponse) throw responseTooLarge(model, fittingBytes, BYTE_BUDGETS.modelResponse);
  const texts = [...dropped.keys()].map((call): [string, string] => [call.toolCallId, JSON.stringify(call.arguments)]);
  const noted = { ...fitting, injections: { ...fitting.injections, ...writtenNotes(texts) } };
  return jsonBytes(noted) > BYTE_BUDGETS.modelResponse ? fitting : noted;
}

/** Removes the items that the provider would get back, which an answer does not need. */
function withoutItems({ providerItems = [], notices = [], ...response }: RecordedResponse): RecordedResponse {
  const message = 'The reasoning and the signatures of this answer were left out: with them it would be too large to be recorded.';
  return {
    ...response,
    providerItems: providerItems.slice(0, 1),
    notices: boundNotices([...notices, { code: 'request_adapted', message }]),
  };
}

function withoutSources({ sources = [], notices = [], ...response }: RecordedResponse): RecordedResponse {
  const message = `The ${counted(sources.length, 'source')} of this answer were left out: with them it would be too large to be recorded.`;
  return { ...response, notices: boundNotices([...notices, { code: 'request_adapted', message }]) };
}

/** Removes the notes about arguments that could not be read: the answer itself is paid for. */
function withoutInjections({ injections: _, ...response }: RecordedResponse): RecordedResponse {
  return response;
}

/** Returns the text of an aborted answer, cut to the size that can be recorded. */
export function limitPartialText(text: string): string {
  return cutText(text.toWellFormed(), BYTE_BUDGETS.modelText);
}

/** Returns the calls whose arguments exceed a budget, in the model's order, with a text for the model about each. */
function callsToDrop(response: RecordedResponse, bytes: number): Map<ToolCall, string> {
  const dropped = new Map<ToolCall, string>();
  const calls = response.content.filter(isToolCall);
  const sizes = new Map(calls.map((call) => [call, jsonBytes(call.arguments)]));
  let total = bytes;
  const drop = (call: ToolCall, problem: string): void => {
    dropped.set(call, problem);
    total += problemBytes(call, problem) - (sizes.get(call) ?? 0);
  };
  for (const call of calls) {
    const size = sizes.get(call) ?? 0;
    if (size > BYTE_BUDGETS.toolArguments) drop(call, ownArguments(call.name, size));
  }
  // The last calls are dropped first: a model usually puts the calls that it needs first at the beginning.
  for (const call of calls.toReversed()) {
    if (total <= BYTE_BUDGETS.modelResponse) break;
    const size = sizes.get(call) ?? 0;
    const problem = allArguments(call.name, size);
    if (!dropped.has(call) && size > problemBytes(call, problem)) drop(call, problem);
  }
  return new Map(calls.flatMap((call): [ToolCall, string][] => (dropped.has(call) ? [[call, dropped.get(call) ?? '']] : [])));
}

/**
 * Returns the bytes that replace a call's arguments: its problem, the braces of its arguments, and at most the name of
 * the field of problems.
 */
function problemBytes(call: ToolCall, problem: string): number {
  return jsonBytes({ [call.toolCallId]: problem }) + ',"problems":{}'.length;
}

function withoutArguments(response: RecordedResponse, isDropped: (call: ToolCall) => boolean): RecordedResponse {
  const content = response.content.map((item) => (isToolCall(item) && isDropped(item) ? { ...item, arguments: {} } : item));
  return { ...response, content };
}

function withProblems(response: RecordedResponse, dropped: ReadonlyMap<ToolCall, string>): RecordedResponse {
  const entries = [...dropped].map(([call, problem]): [string, string] => [call.toolCallId, problem]);
  const problems = Object.fromEntries([...Object.entries(response.problems ?? {}), ...entries]);
  const { output, ...rest } = response;
  // The verdict may concern an answer that was left out.
  const lostAnswer = [...dropped.keys()].some(({ name }) => name === FINAL_ANSWER);
  return { ...rest, problems, ...(output === undefined || lostAnswer ? {} : { output }) };
}

/** Cuts problems to the length of an error message: the model reads them, and they quote its own text. */
function briefProblems(response: RecordedResponse): RecordedResponse {
  const { problems, output } = response;
  if (problems === undefined && output?.type !== 'problem') return response;
  const brief = Object.entries(problems ?? {}).map(([id, problem]): [string, string] => [id, cutProblem(problem)]);
  return {
    ...response,
    ...(problems === undefined ? {} : { problems: Object.fromEntries(brief) }),
    ...(output?.type === 'problem' ? { output: { type: 'problem', problem: cutProblem(output.problem) } } : {}),
  };
}

function cutProblem(problem: string): string {
  return cutText(problem, BYTE_BUDGETS.errorMessage);
}

function ownArguments(name: string, bytes: number): string {
  return `The arguments of '${name}' are too large: ${bytes} bytes of JSON, over ${BYTE_BUDGETS.toolArguments}. They were left out, and the tool was not called. Call it with less.`;
}

function allArguments(name: string, bytes: number): string {
  return `The calls of this answer are too large together: over ${BYTE_BUDGETS.modelResponse} bytes of JSON. The arguments of '${name}' (${bytes} bytes) were left out, and the tool was not called. Ask for fewer calls at once.`;
}

function responseTooLarge(model: string, bytes: number, budget: number): LonghaulError {
  return new LonghaulError(
    'payload_too_large',
    `The answer of model "${model}" is ${bytes} bytes of JSON without the arguments of its calls, over ${budget}: lower "maxOutputTokens".`,
  );
}

/** The maximum number of files of one answer, and the maximum base64 characters of each: 15 MB. */
const MOST_FILES = 10;
const MOST_CHARACTERS = 20_000_000;

/**
 * Puts a model's files into the payload store, and their locations into its message, so that no byte of them enters the history. Throws
 * `model_error` without a store. Nothing in the answer is trusted.
 */
export async function withFiles(
  { payloadStore: store }: Pick<ActivityRuntime, 'payloadStore'>,
  response: RecordedResponse,
  { answer, model }: { answer: ModelResponse; model: string },
): Promise<RecordedResponse> {
  const all = filesOf(answer);
  const files = all.filter(({ data }) => data.length <= MOST_CHARACTERS).slice(0, MOST_FILES);
  const [first] = all;
  if (first === undefined) return response;
  if (store === undefined) {
    throw new ModelCallError(
      'model_error',
      `Model "${model}" has answered with a file (${first.mediaType.slice(0, 100)}), and this worker has no payload store: give it a "payloadStore"`,
    );
  }
  const converter = getClient().options.loadedDataConverter;
  const parts: ContentPart[] = [];
  for (const { mediaType, data } of files) {
    const type = kindOf(mediaType);
    const content: JsonValue[] = [{ type, mediaType, data }];
    parts.push({ type, mediaType: mediaType.slice(0, 100).toWellFormed(), spilled: await spill(store, converter, currentRun(), content) });
  }
  const left = all.length - files.length;
  const message = `${counted(left, 'file')} of the answer were left out: at most ${MOST_FILES} of 15 MB are kept.`;
  const notices = left === 0 ? {} : { notices: boundNotices([...(response.notices ?? []), { code: 'request_adapted', message }]) };
  return { ...response, ...readAnswer(response), ...notices, content: withParts(response.content, parts) };
}

/** Returns the function for clients to read a model's files; undefined without a store. It never rejects. */
export function fileReader({ payloadStore: store }: Pick<ActivityRuntime, 'payloadStore'>): ModelCallContext['readFile'] {
  if (store === undefined) return undefined;
  return async (file) => {
    try {
      const [part] = await readSpilled(store, getClient().options.loadedDataConverter, file);
      const data = isJsonObject(part) ? part['data'] : undefined;
      return typeof data === 'string' ? data : undefined;
    } catch (error) {
      log.warn(`A file of a model was not read from the payload store, and is not sent back to it: ${errorMessage(error)}`);
      return undefined;
    }
  };
}

/** Returns the files of an answer. */
export function filesOf(answer: ModelResponse): ModelFile[] {
  const { files } = responseFields(answer);
  return Array.isArray(files) ? files.filter(isFile) : [];
}

function isFile(file: unknown): file is ModelFile {
  return isJsonObject(file) && typeof file['mediaType'] === 'string' && typeof file['data'] === 'string' && file['data'] !== '';
}

function kindOf(mediaType: string): 'image' | 'audio' | 'video' | 'file' {
  const [kind] = mediaType.split('/', 1);
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

/** A structured answer is read from the text of its message, which now has more parts. */
function readAnswer({ output, content }: RecordedResponse): Pick<RecordedResponse, 'output'> {
  if (output?.type !== 'fits' || content.some(isToolCall)) return {};
  const [text] = content.flatMap((item) => (item.type === 'message' && typeof item.content === 'string' ? [item.content] : []));
  return text === undefined ? {} : { output: { type: 'parsed', value: JSON.parse(text) as JsonValue } };
}

/** Adds parts to the message of an answer, or a message with them before its calls. */
function withParts(content: readonly ContentItem[], parts: ContentPart[]): ContentItem[] {
  if (parts.length === 0) return [...content];
  const [said, ...others] = content;
  if (said?.type !== 'message') return [{ type: 'message', role: 'assistant', content: parts }, ...content];
  const text: ContentPart[] =
    typeof said.content !== 'string' ? said.content : said.content === '' ? [] : [{ type: 'text', text: said.content }];
  return [{ ...said, content: [...text, ...parts] }, ...others];
}
