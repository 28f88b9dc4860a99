import { describe, expect, test } from 'vitest';
import { patchDanglingToolCalls, type SavedMessage, savedContext, UsageError } from '../../../src/index.ts';
import { readSavedContext } from '../../../src/client/index.ts';

const INTERRUPTED = 'Tool call was interrupted and not executed. Please retry if needed.';

describe('savedContext', () => {
  test('makes a document with all fields, which can be read', () => {
    const saved = savedContext({ messages: [{ role: 'user', content: 'hi' }], deps: { user: 7 }, max_iterations: 4 });
    expect(saved).toMatchObject({ version: 1, deps: { user: 7 }, max_iterations: 4, needs_response: true, iteration: 0, agent_name: null });
    expect(saved.messages).toEqual([{ role: 'user', content: 'hi', tool_calls: [], tool_call_id: null, name: null, metadata: {} }]);
    expect(readSavedContext(saved)).toMatchObject({ ok: true, warnings: [] });
  });

  test('makes a new context without fields', () => {
    expect(savedContext()).toMatchObject({ messages: [], deps: {}, max_iterations: 10, usage: { requests: 0 }, needs_response: true });
  });

  test('leaves out what no document may have of the deps', () => {
    const deps = { user: 7, api_key: 'k', log: () => 1, nested: { Token: 't', ok: true }, db: new Map() };
    expect(savedContext({ deps }).deps).toEqual({ user: 7, nested: { ok: true } });
  });

  test.each<[string, object, string]>([
    ['an unknown field', { mesages: [] }, 'unknown option "mesages"'],
    ['messages that are no list', { messages: 'hi' }, 'savedContext: messages'],
    ['a message without a role', { messages: [{ content: 'x' }] }, 'savedContext: messages[0].role'],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'savedContext: messages[0].role is "robot"'],
    ['a message without content', { messages: [{ role: 'user' }] }, 'savedContext: messages[0]: content is required'],
    [
      'an unknown field of a message',
      { messages: [{ role: 'user', content: 'x', text: 'y' }] },
      'savedContext: messages[0].text is unknown',
    ],
    ['a result without its call', { messages: [{ role: 'tool', content: 'x' }] }, 'tool_call_id is required for tool messages'],
    ['deps that are a list', { deps: [1] }, 'savedContext: "deps" is [1]: write an object'],
    ['a time without an offset', { started_at: '2026-01-02T03:04:05' }, 'savedContext: started_at'],
  ])('refuses %s', (_, fields, problem) => {
    expect(() => savedContext(fields)).toThrow(UsageError);
    expect(() => savedContext(fields)).toThrow(problem);
  });
});

describe('patchDanglingToolCalls', () => {
  const asked = (...ids: string[]): Pick<SavedMessage, 'role'> & Partial<SavedMessage> => ({
    role: 'assistant',
    content: 'on it',
    tool_calls: ids.map((id) => ({ id, name: `tool-${id}`, arguments: {} })),
  });
  const result = (id: string): Pick<SavedMessage, 'role'> & Partial<SavedMessage> => ({ role: 'tool', tool_call_id: id, content: 'r' });
  const user = { role: 'user', content: 'go on' } as const;

  test.each<[string, NonNullable<Parameters<typeof savedContext>[0]>['messages'], string[]]>([
    ['one call', [asked('a')], ['assistant', 'a!']],
    ['all calls of a message', [asked('a', 'b')], ['assistant', 'a!', 'b!']],
    ['behind the results that are there', [asked('a', 'b'), result('a'), user], ['assistant', 'a', 'b!', 'user']],
    ['next to its call, before a later message', [asked('a'), user], ['assistant', 'a!', 'user']],
    ['each next to its own message', [asked('a'), asked('b')], ['assistant', 'a!', 'assistant', 'b!']],
    ['none if a result stands anywhere', [result('a'), asked('a')], ['a', 'assistant']],
    ['none for a call without an id', [{ role: 'assistant', content: 'x', tool_calls: [{ name: 'f' }] }], ['assistant']],
    ['the first of two calls with one id', [asked('a'), asked('a')], ['assistant', 'a!', 'assistant']],
    ['a call as providers write it', [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f' } }] }], ['assistant', 'a!']],
  ])('adds results: %s', (_, messages = [], expected) => {
    const context = savedContext({ messages });
    const patched = patchDanglingToolCalls(context);
    const shown = patched.messages.map(({ role, tool_call_id, content }) =>
      role === 'tool' ? `${tool_call_id}${content === INTERRUPTED ? '!' : ''}` : role,
    );
    expect(shown).toEqual(expected);
    expect(patchDanglingToolCalls(patched)).toBe(patched);
    expect(readSavedContext(patched)).toMatchObject({ ok: true, warnings: [] });
  });

  test('a result names its tool, and the model has the next word', () => {
    const patched = patchDanglingToolCalls(savedContext({ messages: [asked('a')], needs_response: false }));
    expect(patched.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'a', name: 'tool-a', metadata: { is_error: true } });
    expect(patched.needs_response).toBe(true);
  });

  test('a context without such calls is returned as it is', () => {
    const context = savedContext({ messages: [user, asked('a'), result('a')] });
    expect(patchDanglingToolCalls(context)).toBe(context);
  });
});
