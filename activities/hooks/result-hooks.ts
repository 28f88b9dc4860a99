import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import { type HookScope, runEventHooks } from './event-hooks.ts';

/** The result of a call before its budget is applied. */
interface CallResult {
  content: JsonValue[];
  isError: boolean;
}

/** The result as its hooks leave it. The content is the same array if none of them changed it. */
interface HookedResult extends CallResult {
  hooks: HookRecord[];
}

/** The event, and what is in its payload beside the id of the call and its result. */
interface ResultEvent {
  on: 'post_tool_use' | 'subagent_stop';
  callId: string;
  about: JsonObject;
}

/** Calls the hooks for the result of a call. One may replace it, or add a text that the model reads with it. Never rejects. */
export async function afterCall(
  scope: HookScope,
  { on, callId, about }: ResultEvent,
  { content, isError }: CallResult,
): Promise<HookedResult> {
  const [only = null, ...more] = content;
  const {
    changes = {},
    injected,
    records,
  } = await runEventHooks(scope, {
    on,
    payload: { ...about, callId, result: more.length === 0 ? only : content, isError },
    callId,
    problemOf: resultProblem,
  });
  const replaced = changes['result'] === undefined ? content : [changes['result']];
  const failed = changes['isError'] === undefined ? isError : changes['isError'] === true;
  return { content: injected.length === 0 ? replaced : [...replaced, ...injected], isError: failed, hooks: records };
}

function resultProblem(changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'result' && key !== 'isError');
  if (other !== undefined) return `it changes "${other}": only "result" and "isError" can be changed after a call`;
  const { isError } = changes;
  return isError === undefined || typeof isError === 'boolean' ? undefined : 'it changes "isError" to something else than true or false';
}
