import { describe, expect, it, test } from 'vitest';
import fc from 'fast-check';
import { estimatedRequestTokens, estimatedTokens } from '../../../src/core/domain/agent.ts';
import {
  bytesBeyondText,
  type ContentItem,
  type ContentPart,
  type ConversationStep,
  mediaTypes,
  needsResponse,
  outputText,
  pruneSteps,
  type PruneStrategy,
  type Role,
  stepMessages,
} from '../../../src/core/domain/content.ts';
import { resultText } from '../../../src/core/domain/tool-calls.ts';
import { anyItem } from './conversations.ts';

describe('an output as text', () => {
  it('joins parts by blanks and names media', () => {
    const parts: ContentPart[] = [
      { type: 'text', text: 'See' },
      { type: 'image', url: 'u', width: 640, height: 480 },
      { type: 'audio', data: 'd', format: 'wav' },
      { type: 'video', url: 'u', format: 'mp4' },
      { type: 'file', url: 'u', name: 'a.pdf' },
    ];
    expect(outputText(parts)).toBe('See [Image: 640x480] [Audio: wav] [Video: mp4] [File: a.pdf]');
  });

  it('names media without further data', () => {
    expect(outputText([{ type: 'image', url: 'u' }])).toBe('[Image]');
  });

  it.each([
    ['plain', 'plain'],
    [null, ''],
    [undefined, ''],
    [{ answer: 4 }, '{"answer":4}'],
    [[1, 2], '[1,2]'],
    [[], '[]'],
    [[{ type: 'unheard of' }], '[{"type":"unheard of"}]'],
  ])('of %j is %j', (output, text) => {
    expect(outputText(output)).toBe(text);
  });
});

describe('the kinds of content', () => {
  it('are sorted, and each is named once', () => {
    const image: ContentPart = { type: 'image', url: 'u' };
    expect(mediaTypes([{ type: 'text', text: 't' }, image, image, { type: 'audio', url: 'u' }])).toEqual(['audio', 'image', 'text']);
  });

  it('are empty for an object, because it is data', () => {
    expect(mediaTypes({ type: 'image' })).toEqual([]);
    expect(mediaTypes('')).toEqual([]);
  });
});

describe('a tool result as text', () => {
  it('joins text blocks with line breaks and writes other values as JSON', () => {
    expect(resultText(['a', 'b'])).toBe('a\nb');
    expect(resultText([{ a: 1 }, 2, null])).toBe('{"a":1}\n2\nnull');
    expect(resultText([])).toBe('');
  });
});

function said(role: Role): ContentItem {
  return { type: 'message', role, content: 'x' };
}

const call: ContentItem = { type: 'tool_call', toolCallId: 'c1', name: 't', arguments: {} };
const result: ContentItem = { type: 'tool_result', toolCallId: 'c1', name: 't', status: 'success', content: [] };

test.each<[string, ContentItem[], boolean]>([
  ['without any item', [], true],
  ['that ends with the user', [said('assistant'), said('user')], true],
  ['that ends with an answer', [said('user'), said('assistant')], false],
  ['that ends with calls', [said('user'), said('assistant'), call], true],
  ['that ends with a result', [said('assistant'), call, result], true],
  ['whose answer comes after a result', [call, result, said('assistant')], false],
  ['of system messages alone', [said('system')], true],
  ['with a system message after the user', [said('user'), said('system')], true],
  ['with a system message after an answer', [said('user'), said('assistant'), said('system')], false],
])('a conversation %s', (_, content, expected) => {
  expect(needsResponse(content)).toBe(expected);
});

test('it is a fold: each item except a system message decides it again', () => {
  const after = (before: boolean, item: ContentItem): boolean => {
    if (item.type !== 'message') return true;
    return item.role === 'system' ? before : item.role === 'user';
  };
  fc.assert(
    fc.property(fc.array(anyItem), (content) => {
      expect(needsResponse(content)).toBe(content.reduce(after, true));
    }),
  );
});

const SYSTEM: ConversationStep = { type: 'system', text: 'S' };
const TASK: ConversationStep = { type: 'task', content: 'T' };

function action(observation: string): ConversationStep {
  return { type: 'action', reply: 'r', observation };
}

function note(text: string): ConversationStep {
  return { type: 'scratchpad', reply: 'r', note: text };
}

function lastSteps(keep: number): PruneStrategy {
  return { strategy: 'last_steps', keep };
}

test('the last steps are kept, in their order', () => {
  expect(pruneSteps([SYSTEM, TASK, action('1'), action('2'), action('3')], lastSteps(2))).toEqual([SYSTEM, TASK, action('2'), action('3')]);
});

test('instructions and tasks are kept at their places, and do not count', () => {
  expect(pruneSteps([SYSTEM, action('1'), TASK, action('2'), TASK, action('3')], lastSteps(1))).toEqual([SYSTEM, TASK, TASK, action('3')]);
});

test('notes count among the last steps', () => {
  expect(pruneSteps([TASK, action('1'), note('n'), action('2')], lastSteps(2))).toEqual([TASK, note('n'), action('2')]);
});

test('none is kept if the number is zero or less', () => {
  expect(pruneSteps([SYSTEM, TASK, action('1')], lastSteps(0))).toEqual([SYSTEM, TASK]);
  expect(pruneSteps([SYSTEM, TASK, action('1')], lastSteps(-1))).toEqual([SYSTEM, TASK]);
});

test('equal steps are distinguished', () => {
  expect(pruneSteps([action('1'), action('1'), action('1')], lastSteps(2))).toEqual([action('1'), action('1')]);
});

test('old observations are cut, and the last ones are whole', () => {
  const long = 'x'.repeat(200);
  expect(pruneSteps([TASK, action(long), action(long), action(long)], { strategy: 'old_observations', keep: 1, maxLength: 50 })).toEqual([
    TASK,
    action(`${'x'.repeat(50)}...`),
    action(`${'x'.repeat(50)}...`),
    action(long),
  ]);
});

test('three observations stay whole, and older ones keep 100 characters, by default', () => {
  const long = 'x'.repeat(101);
  expect(pruneSteps([action(long), action(long), action(long), action(long)], { strategy: 'old_observations' })).toEqual([
    action(`${'x'.repeat(100)}...`),
    action(long),
    action(long),
    action(long),
  ]);
});

test('an old observation of exactly the length stays whole, and no character is split', () => {
  const strategy: PruneStrategy = { strategy: 'old_observations', keep: 0, maxLength: 2 };
  expect(pruneSteps([action('😀😀'), action('😀😀😀'), action('')], strategy)).toEqual([action('😀😀'), action('😀😀...'), action('')]);
});

test('notes and errors are not cut', () => {
  const failed: ConversationStep = { type: 'action', reply: 'r', error: 'e'.repeat(200) };
  const strategy: PruneStrategy = { strategy: 'old_observations', keep: 0, maxLength: 2 };
  expect(pruneSteps([note('n'.repeat(200)), failed], strategy)).toEqual([note('n'.repeat(200)), failed]);
});

const STEPS = fc.array(fc.oneof(fc.constant(SYSTEM), fc.constant(TASK), fc.string().map(action), fc.string().map(note)));

test('without a strategy all is kept', () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      expect(pruneSteps(steps, { strategy: 'none' })).toEqual(steps);
    }),
  );
});

test('pruning twice is pruning once, and keeps all instructions and tasks', () => {
  fc.assert(
    fc.property(STEPS, fc.nat(6), (steps, keep) => {
      const once = pruneSteps(steps, lastSteps(keep));
      expect(pruneSteps(once, lastSteps(keep))).toEqual(once);
      const isKept = ({ type }: ConversationStep): boolean => type === 'system' || type === 'task';
      expect(once.filter(isKept)).toEqual(steps.filter(isKept));
      expect(once.filter((step) => !isKept(step))).toEqual(keep === 0 ? [] : steps.filter((step) => !isKept(step)).slice(-keep));
    }),
  );
});

function messages(...steps: ConversationStep[]): [string, unknown][] {
  return stepMessages(steps).map(({ role, content }) => [role, content]);
}

test('instructions are a system message, and a task is a message of the user', () => {
  expect(messages({ type: 'system', text: 'S' }, { type: 'task', content: 'T' })).toEqual([
    ['system', 'S'],
    ['user', 'T'],
  ]);
});

test('an empty instruction and an empty task are messages too', () => {
  expect(messages({ type: 'system', text: '' }, { type: 'task', content: '' })).toEqual([
    ['system', ''],
    ['user', ''],
  ]);
});

test('a task keeps its media', () => {
  const content = [{ type: 'image' as const, url: 'https://example.org/a.png' }];
  expect(messages({ type: 'task', content })).toEqual([['user', content]]);
});

test('an action is the answer of the model and the observation', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Observation: 4'],
  ]);
});

test('an error is shown in place of the observation', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4', error: 'bad' })).toEqual([
    ['assistant', 'r'],
    ['user', 'bad'],
  ]);
});

test('an empty error counts as no error', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4', error: '' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Observation: 4'],
  ]);
});

test('an action without an answer or without an outcome has no message for it', () => {
  expect(messages({ type: 'action', reply: '', observation: '4' })).toEqual([['user', 'Observation: 4']]);
  expect(messages({ type: 'action', reply: 'r', observation: '' })).toEqual([['assistant', 'r']]);
  expect(messages({ type: 'action', reply: '' })).toEqual([]);
});

test('a note is confirmed, even an empty one', () => {
  expect(messages({ type: 'scratchpad', reply: 'r', note: 'n' }, { type: 'scratchpad', reply: '', note: '' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Scratchpad noted: n'],
    ['user', 'Scratchpad noted: '],
  ]);
});

test('an estimate of tokens counts an image like a page of text, and other media by a tenth of their bytes', () => {
  const data = 'A'.repeat(400_000);
  const asked = (part: object) =>
    [{ content: [{ type: 'message', role: 'user', content: [{ type: 'text', text: data }, part] }] }] as never;
  const returned = (part: object) =>
    [{ content: [{ type: 'tool_result', toolCallId: 'c', name: 't', status: 'success', content: ['x', part] }] }] as never;
  for (const within of [asked, returned]) {
    expect(estimatedTokens(400_000 - bytesBeyondText(within({ type: 'image', mediaType: 'image/png', data })))).toBe(1_600);
    expect(estimatedTokens(400_000 - bytesBeyondText(within({ type: 'audio', mediaType: 'audio/mpeg', data })))).toBe(10_000);
    expect(bytesBeyondText(within({ type: 'image', mediaType: 'image/png', data: 'AAAA' }))).toBe(0);
    expect(bytesBeyondText(within({ type: 'image', url: 'https://example.com/a.png' }))).toBe(0);
  }
  const conversation = asked({ type: 'image', mediaType: 'image/png', data });
  expect(estimatedRequestTokens({ conversation })).toBeLessThan(102_000);
});
