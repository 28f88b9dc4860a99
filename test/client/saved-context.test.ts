import type { Client } from '@temporalio/client';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type ClientSettings, type StartOptions, startRun } from '../../src/client/start-workflow.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { RunInput } from '../../src/core/domain/run-input.ts';
import { type ContextToSave, type MessageToSave, type SavedContext, toSavedContext } from '../../src/core/saved/saved-context.ts';
import { defineAgent } from '../../src/index.ts';
import { fromDocument, readSaved, withEarlier } from '../../src/client/saved-context.ts';
import { say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const clerk = defineAgent({ name: 'clerk', model: 'p/m', deps: z.object({ user: z.string(), cart: z.array(z.string()).default([]) }) });

const conversation: readonly MessageToSave[] = [
  { role: 'user', content: 'Where is order 42?' },
  { role: 'assistant', content: 'It is on its way.' },
];

function saved(context: ContextToSave = {}): SavedContext {
  return toSavedContext({
    messages: conversation,
    deps: { user: 'ada', cart: ['tea'] },
    agent_name: 'clerk',
    max_iterations: 7,
    ...context,
  });
}

/** Starts a run with a client that sends nothing. Returns the input that it would have sent. */
async function sent(options: StartOptions, settings: ClientSettings = {}): Promise<RunInput> {
  const start = vi.fn<Client['workflow']['start']>();
  await startRun({ workflow: { start } } as unknown as Client, clerk, options, settings);
  const [, workflow] = start.mock.calls[0] ?? [];
  return workflow?.args?.[0] as RunInput;
}

async function noticesOf(document: SavedContext): Promise<string[]> {
  const notices: string[] = [];
  await sent({ saved: document, input: 'Q' }, { onNotice: (line) => notices.push(line) });
  return notices;
}

describe('a run that begins from a document', () => {
  test('has its conversation, its deps and its limit of steps', async () => {
    const messages: ContentItem[] = [
      { type: 'message', role: 'user', content: 'Where is order 42?' },
      { type: 'message', role: 'assistant', content: 'It is on its way.' },
    ];
    const input = await sent({ saved: saved(), input: 'And order 43?' });
    expect(input).toEqual({ agent: 'clerk', messages, input: 'And order 43?', deps: { user: 'ada', cart: ['tea'] }, limits: { steps: 7 } });
  });

  test('has its own deps and limits where it names them', async () => {
    const input = await sent({ saved: saved(), input: 'Q', deps: { cart: [] }, limits: { steps: 3, toolCalls: 9 } });
    expect(input).toMatchObject({ deps: { user: 'ada', cart: [] }, limits: { steps: 3, toolCalls: 9 } });
    expect(await sent({ saved: saved(), input: 'Q', limits: { toolCalls: 9 } })).toMatchObject({ limits: { steps: 7, toolCalls: 9 } });
  });

  test("keeps its agent's limit if the document has no limit", async () => {
    const { max_iterations: _, ...without } = saved();
    expect(await sent({ saved: without as SavedContext, input: 'Q' })).not.toHaveProperty('limits');
    expect(await sent({ saved: saved({ max_iterations: 0 }), input: 'Q' })).not.toHaveProperty('limits');
  });

  test('needs no input if the model is to respond', async () => {
    const open = saved({ messages: [{ role: 'user', content: 'Q' }] });
    expect(await sent({ saved: open })).not.toHaveProperty('input');
    await expect(sent({ saved: saved() })).rejects.toThrow('"messages" end with an answer of the assistant: give "input"');
  });

  test('notices another agent, unknown fields and messages that are left out', async () => {
    expect(await noticesOf(saved())).toEqual([]);
    expect(await noticesOf(saved({ agent_name: null }))).toEqual([]);
    expect(await noticesOf(saved({ agent_name: 'baker' }))).toEqual([
      'The saved context is from agent "baker": agent "clerk" continues it',
    ]);
    expect(
      await noticesOf({ ...saved({ messages: [{ role: 'tool', tool_call_id: 'x', content: 'r' }] }), later: 1 } as SavedContext),
    ).toEqual([
      'The saved context: later is unknown, and ignored',
      'The saved context: messages[0] is left out: no call "x" without a result stands before it',
    ]);
  });

  test('loses the oldest results of tools if they are too large, with a notice', async () => {
    const turns = Array.from({ length: 12 }, (_, index): MessageToSave[] => [
      { role: 'assistant', tool_calls: [{ id: `c${index}`, name: 'read', arguments: {} }] },
      { role: 'tool', tool_call_id: `c${index}`, name: 'read', content: 'x'.repeat(60_000) },
    ]);
    const notices: string[] = [];
    const { messages = [] } = await sent(
      { saved: saved({ messages: turns.flat() }), input: 'Q' },
      { onNotice: (line) => notices.push(line) },
    );
    expect(jsonBytes(messages)).toBeLessThanOrEqual(400_000);
    expect(messages.filter((item) => item.type === 'tool_result')).toHaveLength(12);
    expect(notices).toEqual(['The conversation is too large for the start of a run: 6 results of tools, the oldest, became markers']);
  });
});

describe('a start is refused before anything is sent', () => {
  test.each<[string, unknown, string]>([
    ['a document of another version', { version: 2 }, '"saved" is not a saved context: unsupported version: 2'],
    ['no document', 'text', '"saved" is not a saved context: missing or invalid version field'],
    ['a malformed message', { version: 1, messages: [{ role: 'user' }] }, 'messages[0]: content is required, except for assistants'],
    ['parts that no message has', { version: 1, deps: { user: 'a' }, messages: [{ role: 'user', content: [5] }] }, 'messages[0].content'],
    [
      'a credential in the deps',
      { version: 1, deps: { user: 'a', password: 'p' } },
      'deps.password is a text under the name of a credential',
    ],
  ])('%s', async (_, document, problem) => {
    const start = sent({ saved: document as SavedContext, input: 'Q' });
    await expect(start).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(problem) as string });
  });

  test('messages alone that are too large', async () => {
    const large = saved({ messages: [{ role: 'user', content: 'x'.repeat(500_000) }] });
    await expect(sent({ saved: large })).rejects.toMatchObject({ code: 'payload_too_large' });
  });

  test('several conversations', async () => {
    const both = { saved: saved(), previousRunId: 'r', input: 'Q' } as StartOptions;
    await expect(sent(both)).rejects.toThrow('the start has several conversations, "saved" and "previousRunId": give one of them');
  });
});

const SAVED = toSavedContext({
  messages: [{ role: 'user', content: 'Where is order 42?' }],
  deps: { user: 'ada', cart: ['tea'] },
  agent_name: 'clerk',
  max_iterations: 7,
});

describe('a session that begins from a document', () => {
  test('has its conversation and its deps, and not its limit of steps', () => {
    const options = { saved: SAVED, deps: { cart: [] } };
    const begun = withEarlier(options, readSaved(options, 'clerk'));
    expect(begun.messages).toEqual([{ type: 'message', role: 'user', content: 'Where is order 42?' }]);
    expect(begun.deps).toEqual({ user: 'ada', cart: [] });
    expect(begun).not.toHaveProperty('limits');
  });

  test('notices another agent', () => {
    expect(readSaved({ saved: SAVED }, 'baker')?.notices).toEqual(['The saved context is from agent "clerk": agent "baker" continues it']);
  });

  test('is refused with messages in addition to the document', () => {
    const start = (): unknown => readSaved({ saved: SAVED, messages: [] }, 'clerk');
    expect(start).toThrow('the session has several conversations, "messages" and "saved": give one of them');
  });

  test('is a session with its own options if there is no document', () => {
    const options = { messages: [], deps: { user: 'bob' } };
    expect(withEarlier(options, readSaved(options, 'clerk'))).toEqual(options);
  });
});

test('a conversation that is larger than the window of the agent is compacted before its first model call, and costs the run nothing', async () => {
  const agent = defineAgent({ name: 'clerk', model: 'scripted/model', window: { maxBytes: 6_000, keepResults: 1 } });
  const turns = Array.from({ length: 10 }, (_, turn): MessageToSave[] => [
    { role: 'user', content: `question ${turn} ${'x'.repeat(900)}` },
    { role: 'assistant', content: `answer ${turn}` },
  ]);
  const usage = { requests: 50, total_tokens: 1_000_000 };
  const { messages } = fromDocument(toSavedContext({ messages: turns.flat(), usage }), { agent: 'clerk' });
  const model = scriptedModel([say('They asked ten questions.'), say('done')]);
  const { result, events } = await testAgent(agent, { messages, input: 'And now?', model, limits: { totalTokens: 10_000 } });
  expect(result).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 1 });
  expect(events.filter(({ compaction }) => compaction !== undefined)).toHaveLength(1);
  const items = model.requests[1]?.conversation.flatMap(({ content }) => content) ?? [];
  expect(items.length).toBeLessThan(messages.length);
  expect(items.at(-1)).toMatchObject({ role: 'user', content: 'And now?' });
});
