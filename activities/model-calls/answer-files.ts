import { getClient, log } from '@temporalio/activity';
import { type ContentItem, type ContentPart, isToolCall } from '../../src/core/domain/content.ts';
import { errorMessage, ModelCallError } from '../../src/core/domain/errors.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import type { ModelCallContext, ModelFile, ModelResponse, RecordedResponse } from '../../src/core/domain/model.ts';
import { boundNotices } from '../../src/core/domain/run.ts';
import { counted } from '../../src/core/domain/text.ts';
import { responseFields } from '../../src/model/answer-text.ts';
import { readSpilled, spill } from '../../src/stores/payload-store.ts';
import { currentRun } from '../attempts/attempt.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The most files of one answer, and the most characters of base64 of each: 15 MB. */
const MOST_FILES = 10;
const MOST_CHARACTERS = 20_000_000;

/**
 * Puts the files that a model has made into the payload store, and their places into its message: history holds no byte of them. Throws
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

/** Returns the function with which a client reads files that a model has made; undefined without a store. It never rejects. */
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

/** A structured answer is read from the text of its message, which is more than that now. */
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
