import { INTERRUPTED_CALL } from '../domain/content/tool-text.ts';
import { isJsonObject, type JsonValue } from '../domain/json/json.ts';
import { withMissingResults } from '../domain/record/dangling.ts';
import { ownMember } from './known-fields.ts';
import type { SavedContext, SavedMessage } from './saved-context.ts';
import { toSavedMessage } from './to-saved-context.ts';

/**
 * Adds a message of a tool for each call in a saved context that has no result, right after the message that asked for it and the results
 * behind that. Its text says that the call was interrupted, so the model may ask for it again. Providers refuse a conversation with a
 * call that nobody answered. A context without such calls is returned as it is, and patching twice has the effect of patching once.
 * `client.start({ saved })` does the same: this is for contexts that go elsewhere.
 *
 * @example
 * const whole = patchDanglingToolCalls(await client.handle(runId).save());
 */
export function patchDanglingToolCalls(context: SavedContext): SavedContext {
  const messages = withMissingResults(context.messages, {
    callsIn: ({ role, tool_calls }) => (role === 'assistant' ? tool_calls.map(asked) : []),
    answeredBy: ({ role, tool_call_id }) => (role === 'tool' && tool_call_id !== null ? [tool_call_id] : []),
    isOfResults: ({ role }) => role === 'tool',
    interrupted: (calls) => calls.map(({ id, name }) => interruptedMessage(id, name)),
  });
  if (messages === context.messages) return context;
  return { ...context, messages, needs_response: context.needs_response || messages.at(-1)?.role === 'tool' };
}

/** Reads a call, which may be nested as providers write it. */
function asked(call: JsonValue): { id: string; name: string } {
  if (!isJsonObject(call)) return { id: '', name: '' };
  const nested = ownMember(call, 'function');
  return { id: textOf(ownMember(call, 'id')), name: textOf(ownMember(isJsonObject(nested) ? nested : call, 'name')) };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function interruptedMessage(id: string, name: string): SavedMessage {
  return toSavedMessage({
    role: 'tool',
    tool_call_id: id,
    ...(name === '' ? {} : { name }),
    content: INTERRUPTED_CALL,
    metadata: { is_error: true },
  });
}
