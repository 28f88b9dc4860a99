import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentItem, isToolCall } from '../../../src/core/domain/content.ts';
import { givenEvents, patchDangling } from '../../../src/core/domain/model.ts';
import { anyItem, conversation } from './conversations.ts';

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
  it('has one event for what is said to the model, for each answer, and for the results of its calls', () => {
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

  it('loses nothing, whatever it is', () => {
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
