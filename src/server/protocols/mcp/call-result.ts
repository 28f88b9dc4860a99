import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import type { StreamedResult } from '../../../client/stream/stream-item.ts';
import type { ContentPart } from '../../../core/domain/content/content.ts';
import { outputParts, outputText, partText } from '../../../core/domain/content/output-text.ts';
import type { JsonValue } from '../../../core/domain/json/json.ts';
import { cutNote, endedEarly } from '../../../core/domain/record/step.ts';
import { META } from './call-names.ts';
import type { Followed } from './follow-run.ts';

/** The run of a call, as its result names it. */
export interface CalledRun {
  runId: string;
  /** True: the caller gave a key, so it finds the run by calling again. */
  hasKey: boolean;
  /** The path at which the service shows the run. */
  path: string;
  /** True: the answer of the agent has a schema. */
  isStructured: boolean;
}

/** Returns the result of a call from the outcome of its wait. Only the answer of a run that has completed is no error. */
export function callResult(run: CalledRun, followed: Followed): CallToolResult {
  if (followed.type === 'goes_on') return { ...errorResult(goesOnText(run, followed)), _meta: metaOf(run, followed.status) };
  const { result } = followed;
  const lastFinish = result.finishReason ?? followed.lastFinish;
  const answer = result.status === 'completed' ? answerResult(run, result.output, lastFinish) : errorResult(endedText(result));
  const finishReason = lastFinish === undefined ? {} : { [META.finishReason]: lastFinish };
  return { ...answer, _meta: { ...metaOf(run, result.status), ...finishReason } };
}

/** Returns a result that the model reads as a failed call. */
export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

function metaOf({ runId }: CalledRun, status: string): Record<string, unknown> {
  return { [META.runId]: runId, [META.status]: status };
}

function answerResult({ isStructured }: CalledRun, output: JsonValue, finishReason: string | undefined): CallToolResult {
  // The text is for clients that do not read structured content.
  if (isStructured) return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
  const parts = outputParts(output);
  const note = finishReason !== undefined && endedEarly(finishReason) ? [{ type: 'text' as const, text: cutNote(finishReason) }] : [];
  return { content: [...(parts.length === 0 ? [{ type: 'text' as const, text: outputText(output) }] : parts.map(blockOf)), ...note] };
}

/** Returns a part of an answer as the protocol has it: other media than small images and audio as text, with their address. */
function blockOf(part: ContentPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { type, data, url, mediaType } = part;
  if (data !== undefined && mediaType !== undefined && (type === 'image' || type === 'audio')) return { type, data, mimeType: mediaType };
  return { type: 'text', text: url === undefined ? partText(part) : `${partText(part)} ${url}` };
}

function endedText({ status, stopReason, error, errorCode, cancelReason, output }: StreamedResult): string {
  if (status === 'cancelled') return `The run was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}`;
  if (status === 'error') return `The run failed${errorCode === undefined ? '' : ` (${errorCode})`}${error === null ? '' : `: ${error}`}`;
  const partial = outputText(output);
  return `The run did not complete (${stopReason})${partial === '' ? '' : `. Its last answer: ${partial}`}`;
}

function goesOnText({ runId, hasKey, path }: CalledRun, { status, waitsFor = '' }: Extract<Followed, { type: 'goes_on' }>): string {
  const about = waitsFor === '' ? '' : ` about ${waitsFor}`;
  const why = status === 'pending_confirmation' ? `it waits for a person to decide${about}` : 'it has not ended yet';
  const later = hasKey ? `call again with the same "${META.idempotencyKey}", or read "${path}"` : `read "${path}"`;
  return `The run "${runId}" goes on: ${why}. Do not give the task again. For its result, ${later}`;
}
