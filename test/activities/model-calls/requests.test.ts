import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildRequest } from '../../../src/model/build-request.ts';
import { defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import type { ToolChoice } from '../../../src/core/domain/agent.ts';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { summaryRequest } from '../../../activities/model-calls/summarize.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { WindowEvent } from '../../../src/core/domain/window.ts';

const noop = defineTool({ name: 'noop', description: 'Does nothing', parameters: z.object({}), execute: () => 'done' });
const conversation: ConversationEvent[] = [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] }];

test('the model is the part after the first slash', () => {
  const agent = defineAgent({ name: 'a', model: 'gateway/meta/llama-3' });
  expect(buildRequest(snapshotOf(agent), conversation, false).model).toBe('meta/llama-3');
});

test('tools are offered with tool choice auto, and without tools the request has neither', () => {
  expect(
    buildRequest(snapshotOf(defineAgent({ name: 'a', model: 'p/m', instructions: 'I', tools: [noop] })), conversation, false),
  ).toMatchObject({
    instructions: ['I'],
    tools: [{ name: 'noop' }],
    settings: { toolChoice: 'auto' },
  });
  const bare = buildRequest(snapshotOf(defineAgent({ name: 'a', model: 'p/m' })), conversation, false);
  expect(bare.tools).toEqual([]);
  expect(bare.settings).not.toHaveProperty('toolChoice');
});

test.each<[name: string, agent: { toolChoice?: ToolChoice; mode?: 'final_answer' }, first: unknown, later: unknown]>([
  ['none given', {}, 'auto', 'auto'],
  ['auto', { toolChoice: 'auto' }, 'auto', 'auto'],
  ['none', { toolChoice: 'none' }, 'none', 'none'],
  ['required', { toolChoice: 'required' }, 'required', 'auto'],
  ['required, as an object', { toolChoice: { required: true } }, 'required', 'auto'],
  ['required in every step', { toolChoice: { required: true, every: true } }, 'required', 'required'],
  ['a name', { toolChoice: { tool: 'noop' } }, { tool: 'noop' }, 'auto'],
  ['a name, not in every step', { toolChoice: { tool: 'noop', every: false } }, { tool: 'noop' }, 'auto'],
  ['a name in every step', { toolChoice: { tool: 'noop', every: true } }, { tool: 'noop' }, { tool: 'noop' }],
  ['none given, with an answer as a call', { mode: 'final_answer' }, 'required', 'required'],
  ['auto, with an answer as a call', { mode: 'final_answer', toolChoice: 'auto' }, 'auto', 'auto'],
  ['required, with an answer as a call', { mode: 'final_answer', toolChoice: 'required' }, 'required', 'required'],
  ['a name, with an answer as a call', { mode: 'final_answer', toolChoice: { tool: 'noop' } }, { tool: 'noop' }, 'required'],
])('the choice of a tool in the first step of a turn and later: %s', (_, { toolChoice, mode }, first, later) => {
  const output = mode === undefined ? {} : { output: z.object({ a: z.string() }), outputMode: mode };
  const settings = toolChoice === undefined ? {} : { settings: { toolChoice } };
  const snapshot = snapshotOf(defineAgent({ name: 'a', model: 'p/m', tools: [noop], ...settings, ...output }));
  expect(buildRequest(snapshot, conversation, false, { isFirst: true }).settings.toolChoice).toEqual(first);
  expect(buildRequest(snapshot, conversation, false, { isFirst: false }).settings.toolChoice).toEqual(later);
});

test('the final attempt offers no tools, says so to the model, and has the lowest temperature', () => {
  const agent = defineAgent({ name: 'a', model: 'p/m', tools: [noop], settings: { temperature: 1 } });
  const request = buildRequest(snapshotOf(agent), conversation, true);
  expect(request).toMatchObject({ tools: [], settings: { temperature: 0 } });
  expect(request.conversation).toHaveLength(2);
  expect(request.conversation[1]?.content[0]).toMatchObject({ role: 'user', content: expect.stringContaining('final answer') });
});

test('an unanswered call is answered as interrupted, before the next item', () => {
  const asked: ConversationEvent = { author: 'a', content: [{ type: 'tool_call', toolCallId: 'c1', name: 'noop', arguments: {} }] };
  const agent = defineAgent({ name: 'a', model: 'p/m', tools: [noop] });
  const interrupted = expect.objectContaining({ type: 'tool_result', toolCallId: 'c1', status: 'error' });
  const { conversation: sent } = buildRequest(snapshotOf(agent), [...conversation, asked, ...conversation], true);
  expect(sent.map(({ content }) => content[0])).toEqual([
    conversation[0]?.content[0],
    asked.content[0],
    interrupted,
    conversation[0]?.content[0],
    expect.objectContaining({ role: 'user' }),
  ]);
});

test('a structured answer is enforced by a provider that can, and requested as a required tool from one that cannot', () => {
  interface Tree {
    name: string;
    children: Tree[];
  }
  const tree: z.ZodType<Tree> = z.object({
    name: z.string(),
    get children() {
      return z.array(tree);
    },
  });
  const agent = defineAgent({ name: 'a', model: 'p/m', output: tree });
  expect(buildRequest(snapshotOf(agent), conversation, false)).toMatchObject({ tools: [], output: { name: 'answer' } });

  const asTool = buildRequest(snapshotOf(agent, { structuredOutput: false }), conversation, false);
  expect(asTool).not.toHaveProperty('output');
  expect(asTool).toMatchObject({ tools: [{ name: 'final_answer' }], settings: { toolChoice: 'required' } });
  // The schema has moved below `output`, and its references to the root have moved too.
  const references = [...JSON.stringify(asTool.tools).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference);
  expect(references.length).toBeGreaterThan(0);
  for (const reference of references) expect(reference).toMatch(/^#\/properties\/output/);
});

test('an agent with code is offered run_code, and no tool that only code may call', () => {
  const hidden = defineTool({ name: 'hidden', description: 'd', parameters: z.object({}), execute: () => 'done', callers: ['code'] });
  const agent = defineAgent({
    name: 'a',
    model: 'p/m',
    tools: [noop, hidden],
    code: { executor: quickjs() },
    output: z.object({ n: z.number() }),
  });
  const { tools } = buildRequest(snapshotOf(agent, { structuredOutput: false }), conversation, false);
  expect(tools.map(({ name }) => name)).toEqual(['noop', 'run_code', 'final_answer']);
  expect(tools[1]?.description).toContain('hidden(');
  expect(buildRequest(snapshotOf(agent), conversation, true).tools).toEqual([]);
});

test('equal agents have equal digests, and any difference gives another digest', () => {
  const options = { name: 'a', model: 'p/m' as const, tools: [noop] };
  const digest = snapshotOf(defineAgent(options)).digest;
  expect(snapshotOf(defineAgent({ ...options })).digest).toBe(digest);
  expect(snapshotOf(defineAgent({ ...options, limits: { steps: 11 } })).digest).not.toBe(digest);
});

const BOUNDS = { tokens: 100_000, maxBytes: 32_000 };

function event(author: string, ...content: ContentItem[]): WindowEvent {
  return { offset: 1, id: 'e', author, content };
}

function said(text: string): WindowEvent {
  return event('user', { type: 'message', role: 'user', content: text });
}

function textOf(events: WindowEvent[], bounds = BOUNDS): string {
  const [first] = summaryRequest('p/m', events, bounds).conversation;
  const [item] = first?.content ?? [];
  return item?.type === 'message' && typeof item.content === 'string' ? item.content : '';
}

test('media of results are named in a quoted conversation', () => {
  const image = { type: 'image', data: 'A'.repeat(500), mediaType: 'image/png' };
  const seen = event('bot', { type: 'tool_result', toolCallId: 'c1', name: 'look', status: 'success', content: ['seen', image] });
  expect(textOf([seen])).toContain('look returned: seen\n[Image]\n');
});

test('a conversation is quoted as text, so that the model sees no calls of tools that it lacks', () => {
  const events = [
    said('Find it'),
    event(
      'bot',
      { type: 'message', role: 'assistant', content: 'I look' },
      { type: 'tool_call', toolCallId: 'c1', name: 'find', arguments: { q: 1 } },
    ),
    event(
      'bot',
      { type: 'tool_result', toolCallId: 'c1', name: 'find', status: 'success', content: ['found', { at: 7 }] },
      { type: 'tool_result', toolCallId: 'c2', name: 'other', status: 'error', content: ['boom'], notes: ['mind the gap'] },
    ),
  ];
  expect(textOf(events)).toBe(
    'The conversation:\n\nuser: Find it\nbot: I look\nbot calls find({"q":1})\nfind returned: found\n{"at":7}\nother failed: boom\n' +
      'About the call of "other" (c2): mind the gap\n\nSummarize it.',
  );
});

test('the request has no tools and no settings, and the name of the model without its provider', () => {
  expect(summaryRequest('gateway/vendor/small', [said('Q')], BOUNDS)).toMatchObject({ model: 'vendor/small', tools: [], settings: {} });
});

test('the model gets the number of words that the byte limit of the summary allows', () => {
  const told = (maxBytes: number): string => summaryRequest('p/m', [], { ...BOUNDS, maxBytes }).instructions.join('');
  expect(told(32_000)).toContain('At most 1000 words.');
  expect(told(4_000)).toContain('At most 500 words.');
  expect(told(10)).toContain('At most 20 words.');
});

test('a long item is cut, and the items after it are kept', () => {
  const text = textOf([said('x'.repeat(50_000)), said('the end')]);
  expect(text).toMatch(/x \[Cut: \d+ of 50000 bytes are missing\]\nuser: the end/);
  expect(text.length).toBeLessThan(21_000);
});

test('if all items together are too long, the longest are cut further, and the end is kept as long as possible', () => {
  const events = [...Array.from({ length: 40 }, () => said('x'.repeat(20_000))), said('the end')];
  const text = textOf(events, { ...BOUNDS, tokens: 20_000 });
  expect(text.length).toBeLessThan(60_000);
  expect(text).toContain('user: the end');
});

test('if cutting items is not enough, the request keeps the beginning of the conversation', () => {
  const text = textOf(
    Array.from({ length: 5_000 }, (_, index) => said(`message ${index}`)),
    { ...BOUNDS, tokens: 1_000 },
  );
  expect(text.length).toBeLessThan(3_200);
  expect(text).toContain('user: message 0\n');
  expect(text).toContain('bytes are missing]\n\nSummarize it.');
});
