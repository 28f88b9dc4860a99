import { describe, expect, it, test } from 'vitest';
import {
  applyContextUpdate,
  type ContextUpdate,
  contextUpdate,
  patchDanglingToolCalls,
  savedContext,
  type SavedMessage,
  UsageError,
} from '../../src/index.ts';
import { readSavedContext } from '../../src/client/index.ts';

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
    ['messages that are not a list', { messages: 'hi' }, 'savedContext: messages'],
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
    ['after the results that are there', [asked('a', 'b'), result('a'), user], ['assistant', 'a', 'b!', 'user']],
    ['next to its call, before a later message', [asked('a'), user], ['assistant', 'a!', 'user']],
    ['each next to its own message', [asked('a'), asked('b')], ['assistant', 'a!', 'assistant', 'b!']],
    ['none if there is a result anywhere', [result('a'), asked('a')], ['a', 'assistant']],
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

  test('a context without such calls is returned unchanged', () => {
    const context = savedContext({ messages: [user, asked('a'), result('a')] });
    expect(patchDanglingToolCalls(context)).toBe(context);
  });
});

interface Deps {
  notes?: string[];
  count: number;
  stats?: { total?: number; failed?: number };
  name?: string | null;
}

test("deps are the run's deps after the call that returned the update", () => {
  const deps: Deps = { count: 1, notes: ['a'], stats: { failed: 0 } };
  const update = contextUpdate<Deps>().set('count', 2).append('notes', 'b').merge('stats', { total: 1 }).delete('name');
  const after: Deps = applyContextUpdate(deps, update);
  expect(after).toEqual({ count: 2, notes: ['a', 'b'], stats: { failed: 0, total: 1 } });
});

test('neither the deps nor the update change', () => {
  const deps = { notes: ['a'], stats: { total: 1 } };
  const update = contextUpdate().append('notes', 'b').merge('stats', { total: 2 });
  const before = structuredClone({ deps, operations: update.operations });
  expect(applyContextUpdate(deps, update)).toEqual({ notes: ['a', 'b'], stats: { total: 2 } });
  expect({ deps, operations: update.operations }).toEqual(before);
});

test.each<[string, object, ContextUpdate, object]>([
  ['nothing', { a: 1 }, contextUpdate(), { a: 1 }],
  ['an element to a missing list', {}, contextUpdate().append('l', 1), { l: [1] }],
  ['an element to null', { l: null }, contextUpdate().append('l', 1), { l: [1] }],
  ['a list as one element', { l: [1] }, contextUpdate().append('l', [2]), { l: [1, [2]] }],
  ['an object over a text', { o: 'x' }, contextUpdate().merge('o', { a: 1 }), { o: { a: 1 } }],
  ['null over a value inside of an object', { o: { a: 1 } }, contextUpdate().merge('o', { a: null }), { o: { a: null } }],
  ['a key that is not there', { a: 1 }, contextUpdate().delete('b'), { a: 1 }],
  ['each operation on the outcome of the one before', {}, contextUpdate().append('l', 1).set('l', [7]).append('l', 2), { l: [7, 2] }],
])('applies %s', (_, deps, update, expected) => {
  expect(applyContextUpdate(deps, update)).toEqual(expected);
});

describe('is refused with what to do', () => {
  test.each<[string, object, unknown, string]>([
    ['an element for a text', { notes: 'x' }, contextUpdate().append('notes', 1), 'deps.notes is a string: only a list can be appended to'],
    ['an element for an object', { n: { a: 1 } }, contextUpdate().append('n', 1), 'deps.n is an object: only a list can be appended to'],
    ['a function', {}, contextUpdate<Record<string, unknown>>().set('f', () => 1), 'deps.f is a function'],
    ['undefined', {}, { operations: [{ op: 'set', key: 'a' }] }, 'deps.a is undefined: write null, or delete the key'],
    ['an unknown operation', {}, { operations: [{ op: 'put', key: 'a', value: 1 }] }, 'there is no operation "put": write set, merge'],
    ['an empty key', {}, { operations: [{ op: 'set', key: '', value: 1 }] }, 'the key of "set" is "": write the name of a field'],
    ['no update', {}, undefined, 'it has no list of operations: write contextUpdate().set(key, value)'],
    ['deps that are not JSON', { db: new Map() }, contextUpdate(), 'deps.db'],
  ])('%s', (_, deps, update, problem) => {
    const apply = (): object => applyContextUpdate(deps, update as ContextUpdate);
    expect(apply).toThrow(UsageError);
    expect(apply).toThrow(`The update of the deps cannot be applied: ${problem}`);
  });

  it('as a whole', () => {
    const deps = { a: 1, notes: 'x' };
    expect(() => applyContextUpdate(deps, contextUpdate().set('a', 2).append('notes', 1))).toThrow(UsageError);
    expect(deps).toEqual({ a: 1, notes: 'x' });
  });
});
