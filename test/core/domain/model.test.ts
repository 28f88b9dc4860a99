import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentItem, isToolCall } from '../../../src/core/domain/content.ts';
import { type ConversationEvent, givenEvents, patchDangling } from '../../../src/core/domain/model.ts';
import { anyItem, conversation } from './conversations.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';

function said(role: 'system' | 'user' | 'assistant', content: string): ContentItem {
  return { type: 'message', role, content };
}

function call(toolCallId: string): ContentItem {
  return { type: 'tool_call', toolCallId, name: 't', arguments: {} };
}

function result(toolCallId: string): ContentItem {
  return { type: 'tool_result', toolCallId, name: 't', status: 'success', content: [] };
}

describe('a conversation that a run begins with', () => {
  it('has one event for the messages to the model, for each answer, and for the results of its calls', () => {
    const [rule, hi, text, more] = [said('system', 'Be kind.'), said('user', 'Hi'), said('assistant', 'I look.'), said('user', 'And?')];
    const items = [rule, hi, text, call('c1'), call('c2'), result('c2'), result('c1'), said('assistant', 'There.'), more];
    expect(givenEvents(items, 'clerk')).toEqual([
      { author: 'user', content: [rule, hi] },
      { author: 'clerk', content: [text, call('c1'), call('c2')] },
      { author: 'clerk', content: [result('c2'), result('c1')] },
      { author: 'clerk', content: [said('assistant', 'There.')] },
      { author: 'user', content: [more] },
    ]);
  });

  it('has an event for each of two answers in a row, so that an interrupted call is answered before the second', () => {
    const items = [said('user', 'Q'), call('c1'), said('assistant', 'Well.'), said('assistant', 'So.')];
    const patched = patchDangling(givenEvents(items, 'clerk'));
    expect(patched.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['message'],
      ['tool_call'],
      ['tool_result'],
      ['message'],
      ['message'],
    ]);
  });

  it('loses nothing, whatever it contains', () => {
    fc.assert(
      fc.property(fc.array(anyItem), (items) => {
        const events = givenEvents(items, 'clerk');
        expect(events.flatMap(({ content }) => content)).toEqual(items);
        expect(events.every(({ content }) => content.length > 0)).toBe(true);
      }),
    );
  });

  it('has every call answered right after its event once it is patched', () => {
    fc.assert(
      fc.property(conversation, (items) => {
        const answers: [calls: string[], results: string[]][] = [];
        for (const { content } of patchDangling(givenEvents(items, 'clerk'))) {
          const results = content.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []));
          if (results.length > 0) answers.at(-1)?.[1].push(...results);
          else answers.push([content.filter(isToolCall).map(({ toolCallId }) => toolCallId), []]);
        }
        for (const [calls, results] of answers) expect(results.toSorted()).toEqual(calls.toSorted());
      }),
    );
  });
});

describe('a patched conversation', () => {
  const user: ConversationEvent = { author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] };

  function asks(...ids: string[]): ConversationEvent {
    return {
      author: 'a',
      content: ids.map((toolCallId) => ({ type: 'tool_call', toolCallId, name: `tool of ${toolCallId}`, arguments: {} })),
    };
  }

  function gives(...ids: string[]): ConversationEvent {
    const content = ids.map((toolCallId) => ({
      type: 'tool_result' as const,
      toolCallId,
      name: 't',
      status: 'success' as const,
      content: ['ok'],
    }));
    return { author: 'a', content };
  }

  function interrupts(...ids: string[]): ConversationEvent {
    const content = ids.map((toolCallId): ContentItem => ({
      type: 'tool_result',
      toolCallId,
      name: `tool of ${toolCallId}`,
      status: 'error',
      content: [INTERRUPTED_CALL],
    }));
    return { author: 'a', content };
  }

  describe('a call without a result', () => {
    it('is answered as interrupted, right after its event', () => {
      expect(patchDangling([user, asks('c1', 'c2'), user])).toEqual([user, asks('c1', 'c2'), interrupts('c1', 'c2'), user]);
      expect(patchDangling([user, asks('c1')])).toEqual([user, asks('c1'), interrupts('c1')]);
    });

    it('is answered after the results of the other calls of its event, however many events they take', () => {
      const events = [user, asks('c1', 'c2', 'c3'), gives('c3'), { author: 'x', content: [] }, gives('c1'), user];
      expect(patchDangling(events)).toEqual([...events.slice(0, 5), interrupts('c2'), user]);
    });

    it('is answered in addition to calls of other events', () => {
      expect(patchDangling([asks('c1'), asks('c2'), user, asks('c3')])).toEqual([
        asks('c1'),
        interrupts('c1'),
        asks('c2'),
        interrupts('c2'),
        user,
        asks('c3'),
        interrupts('c3'),
      ]);
    });

    it('is unchanged if it has no id', () => {
      const events = [user, asks('')];
      expect(patchDangling(events)).toBe(events);
      expect(patchDangling([asks('', 'c1')])).toEqual([asks('', 'c1'), interrupts('c1')]);
    });
  });

  it('a call with a result in any event is unchanged', () => {
    const events = [gives('c1'), user, asks('c1'), user];
    expect(patchDangling(events)).toBe(events);
  });

  const anyConversation = fc.array(
    fc.oneof(
      fc.constant(user),
      fc.array(fc.constantFrom('', 'c1', 'c2', 'c3', 'c4', 'c5', '__proto__'), { minLength: 1, maxLength: 4 }).map((ids) => asks(...ids)),
      fc.array(fc.constantFrom('c1', 'c2', 'c3', 'c4'), { minLength: 1, maxLength: 3 }).map((ids) => gives(...ids)),
      fc.constant<ConversationEvent>({ author: 'somebody', content: [] }),
    ),
    { maxLength: 12 },
  );

  describe('every conversation, once patched,', () => {
    const ids = (events: ConversationEvent[], type: ContentItem['type']): string[] =>
      events.flatMap(({ content }) => content.flatMap((item) => (item.type === type && 'toolCallId' in item ? [item.toolCallId] : [])));

    it('has a result for every call with an id, and all its original items', () =>
      fc.assert(
        fc.property(anyConversation, (events) => {
          const before = structuredClone(events);
          const patched = patchDangling(events);
          const results = new Set(ids(patched, 'tool_result'));
          expect(ids(patched, 'tool_call').filter((id) => id !== '' && !results.has(id))).toEqual([]);
          const given = new Set(events);
          expect(patched.filter((event) => given.has(event))).toEqual(events);
          expect(events).toEqual(before);
        }),
      ));

    it('has each added result once, after its call, with nothing but results in between', () =>
      fc.assert(
        fc.property(anyConversation, (events) => {
          const given = new Set(events);
          const patched = patchDangling(events);
          const added = patched.filter((event) => !given.has(event));
          const answered = ids(added, 'tool_result');
          expect(new Set(answered).size).toBe(answered.length);
          expect(answered.filter((id) => ids(events, 'tool_result').includes(id))).toEqual([]);
          for (const event of added) {
            const before = patched.slice(0, patched.indexOf(event));
            const asking = before.findLast(({ content }) => content.some(({ type }) => type !== 'tool_result'));
            expect(ids(asking === undefined ? [] : [asking], 'tool_call')).toEqual(expect.arrayContaining(ids([event], 'tool_result')));
          }
        }),
      ));

    it('is not changed by patching it again', () =>
      fc.assert(
        fc.property(anyConversation, (events) => {
          const patched = patchDangling(events);
          expect(patchDangling(patched)).toBe(patched);
        }),
      ));
  });
});
