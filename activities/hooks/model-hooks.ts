import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import { hooksFor } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { type HookScope, runEventHooks } from './event-hooks.ts';

/** A request after its hooks, with their answers. */
interface HookedRequest {
  request: ModelRequest;
  records: HookRecord[];
}

/** The model, as `provider/model`, and the step that it is called in. */
interface CalledModel {
  model: string;
  step: number;
}

/**
 * Calls the hooks before a model call. Their texts are added to the instructions of this request alone. Throws `hook_denied` if one
 * denies it: nothing has been paid for.
 */
export async function beforeRequest(scope: HookScope, { model, step }: CalledModel, request: ModelRequest): Promise<HookedRequest> {
  const { conversation, instructions, tools } = request;
  const { result, injected, records } = await runEventHooks(scope, {
    on: 'pre_request',
    payload: { model, step, messages: conversation.length, tools: tools.map(({ name }) => name) },
    problemOf: () => 'a request cannot be modified: inject a text, or deny it',
  });
  if (result.type === 'deny') {
    const reason = result.text === undefined ? '' : `: ${result.text}`;
    throw new LonghaulError('hook_denied', `Hook "${result.hook}" denied the model call of step ${step}${reason}`);
  }
  return { request: injected.length === 0 ? request : { ...request, instructions: [...instructions, ...injected] }, records };
}

/** Calls the hooks before the model summarises `events` events. Their texts are added to the instructions of that request. Never rejects. */
export async function beforeSummary(scope: HookScope, events: number, request: ModelRequest): Promise<HookedRequest> {
  const { injected, records } = await runEventHooks(scope, {
    on: 'pre_compact',
    payload: { events },
    problemOf: () => 'a summary cannot be modified: inject a text',
  });
  return { request: { ...request, instructions: [...request.instructions, ...injected] }, records };
}

/** Bytes of JSON that a text may have which takes the place of an answer. */
const TEXT_BYTES = 64_000;

/** An answer after its hooks, with their answers. */
interface HookedResponse {
  answer: ModelResponse;
  records: HookRecord[];
}

/** Calls the hooks after a model call, before the answer is interpreted: one of them may replace its text. Never rejects. */
export async function afterResponse(scope: HookScope, answer: ModelResponse): Promise<HookedResponse> {
  if (hooksFor(scope.snapshot, 'post_response').length === 0) return { answer, records: [] };
  const { changes, records } = await runEventHooks(scope, { on: 'post_response', payload: payloadOf(answer), problemOf: textProblem });
  const text = changes?.['text'];
  if (typeof text !== 'string') return { answer, records };
  // They would send the text that was replaced back to the provider.
  const { providerItems: _, account: __, structured: ___, ...rest } = answer;
  return { answer: { ...rest, content: text }, records };
}

/** Nothing in an answer is trusted to be of its type. */
function payloadOf(answer: Partial<ModelResponse> | null | undefined): JsonObject {
  const { content, toolCalls, finishReason, usage } = answer ?? {};
  const calls = Array.isArray(toolCalls) ? toolCalls : [];
  return {
    text: typeof content === 'string' ? content : '',
    toolCalls: calls.map((call) => ({ name: plain(call?.name), arguments: plain(call?.arguments) })),
    finishReason: plain(finishReason),
    usage: plain(usage),
  };
}

function plain(value: unknown): JsonValue {
  return value === undefined ? null : (cleanJson(value) ?? null);
}

function textProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'text');
  if (other !== undefined) return `it changes "${other}": only "text" can be changed in an answer`;
  if (typeof changes['text'] !== 'string') return 'it changes "text" to something else than a text';
  const bytes = jsonBytes(changes['text']);
  // An answer that has been paid for must not become too large to be recorded.
  return bytes > TEXT_BYTES ? `the text has ${bytes} bytes of JSON, over ${TEXT_BYTES}` : undefined;
}
