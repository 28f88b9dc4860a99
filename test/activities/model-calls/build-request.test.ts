import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildRequest } from '../../../activities/model-calls/call-model.ts';
import { defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import type { ToolChoice } from '../../../src/core/domain/agent.ts';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';

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
  expect(buildRequest(snapshot, conversation, false, true).settings.toolChoice).toEqual(first);
  expect(buildRequest(snapshot, conversation, false, false).settings.toolChoice).toEqual(later);
});

test('the final attempt offers no tools, is told so, and has the lowest temperature', () => {
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
