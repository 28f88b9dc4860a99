import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { givenMessages } from '../../../src/client/saved-context.ts';
import { givenEvents, patchDangling } from '../../../src/core/domain/model.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import { type MessageToSave, toSavedContext } from '../../../src/core/saved/saved-context.ts';
import { savedMessages } from '../../../src/core/saved/context-of-run.ts';
import { conversationProblems } from '../../../src/core/wire-schemas/run-input-schema.ts';

function given(messages: MessageToSave[], system_prompt: string | null = null): ReturnType<typeof givenMessages> {
  return givenMessages(toSavedContext({ messages, system_prompt }));
}

function asks(...ids: string[]): MessageToSave {
  return { role: 'assistant', tool_calls: ids.map((id) => ({ id, name: `tool ${id}`.replace(' ', '_'), arguments: {} })) };
}

function gives(id: string, content = `result of ${id}`): MessageToSave {
  return { role: 'tool', tool_call_id: id, content };
}

const hello: MessageToSave = { role: 'user', content: 'hello' };

/** Returns the conversation in few words: roles, calls and results. */
function shape(items: readonly ContentItem[]): string[] {
  return items.map((item) => {
    if (item.type === 'message') return item.role;
    return item.type === 'tool_call' ? `call ${item.toolCallId}` : `result ${item.toolCallId}`;
  });
}

describe('the conversation of a document', () => {
  test.each<[string, MessageToSave[], string[]]>([
    ['messages, calls and results', [hello, asks('a', 'b'), gives('a'), gives('b')], ['user', 'call a', 'call b', 'result a', 'result b']],
    ['an answer with a text and a call', [{ ...asks('a'), content: 'so' }, gives('a')], ['assistant', 'call a', 'result a']],
    ['an assistant that said nothing', [hello, { role: 'assistant', content: '' }], ['user']],
    ['results that come late', [asks('a'), hello, gives('a')], ['call a', 'result a', 'user']],
    ['results in another order', [asks('a', 'b'), gives('b'), gives('a')], ['call a', 'call b', 'result b', 'result a']],
    ['an id that repeats', [asks('a'), gives('a'), asks('a'), gives('a')], ['call a', 'result a', 'call a_2', 'result a_2']],
    ['an id that repeats without a result', [asks('a'), asks('a'), gives('a')], ['call a', 'call a_2', 'result a_2']],
    ['a call without a result', [asks('a', 'b'), gives('b'), hello], ['call a', 'call b', 'result b', 'user']],
  ])('%s', (_, messages, expected) => {
    const { messages: items, notices } = given(messages);
    expect(shape(items)).toEqual(expected);
    expect(notices).toEqual([]);
    expect(conversationProblems(items, 'messages')).toEqual([]);
  });

  test('a result that no call has asked for is left out, with a notice', () => {
    const { messages, notices } = given([hello, gives('x'), asks('a'), gives('a'), gives('a')]);
    expect(shape(messages)).toEqual(['user', 'call a', 'result a']);
    expect(notices).toEqual([
      'messages[1] is left out: no call "x" without a result stands before it',
      'messages[4] is left out: no call "a" without a result stands before it',
    ]);
  });

  test('a call that was interrupted is answered right after its message, before what the user said then', () => {
    const { messages } = given([asks('a', 'b'), gives('b'), hello]);
    const patched = patchDangling(givenEvents(messages, 'agent')).flatMap(({ content }) => content);
    expect(shape(patched)).toEqual(['call a', 'call b', 'result b', 'result a', 'user']);
    expect(patched).toContainEqual({ type: 'tool_result', toolCallId: 'a', name: 'tool_a', status: 'error', content: [INTERRUPTED_CALL] });
  });

  test('its instructions are left out, and other system messages are not', () => {
    const system = { role: 'system', content: 'Be brief' } as const;
    expect(shape(given([system, hello], 'Be brief').messages)).toEqual(['user']);
    expect(shape(given([system, hello], 'Be long').messages)).toEqual(['system', 'user']);
    expect(shape(given([hello, system], 'Be brief').messages)).toEqual(['user', 'system']);
  });

  it('is the conversation that was saved (property)', () => {
    const value: fc.Arbitrary<JsonValue> = fc.oneof(fc.string(), fc.nat(), fc.constant(null), fc.constant<JsonValue>({ a: [1] }));
    const turn = fc.record({
      said: fc.option(fc.string({ minLength: 1 })),
      results: fc.array(fc.record({ content: fc.array(value, { maxLength: 3 }), error: fc.boolean() }), { maxLength: 3 }),
      user: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 4 }), (turns) => {
        const events = turns.flatMap(({ said, results, user }, index): ContentItem[][] => [
          [{ type: 'message', role: 'user', content: user }],
          [
            ...(said === null ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: said }]),
            ...results.map((_, call): ContentItem => ({
              type: 'tool_call',
              toolCallId: `c${index}.${call}`,
              name: 'look',
              arguments: { call },
            })),
          ],
          results.map(({ content, error }, call): ContentItem => ({
            type: 'tool_result',
            toolCallId: `c${index}.${call}`,
            name: 'look',
            status: error ? 'error' : 'success',
            content,
          })),
        ]);
        const saved = toSavedContext({ messages: savedMessages(events.map((content) => ({ content }))) });
        expect(givenMessages(saved)).toEqual({ messages: events.flat(), notices: [] });
      }),
    );
  });
});
