import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { fitMessages, givenMessages } from '../../src/client/saved-context.ts';
import { givenEvents, patchDangling } from '../../src/core/domain/model.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import { INTERRUPTED_CALL } from '../../src/core/domain/tool-calls.ts';
import { type MessageToSave, readSavedContext, savedMessages, toSavedContext } from '../../src/core/saved/saved-context.ts';
import { checkRunInput, conversationProblems } from '../../src/core/input-checks.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { conversationState, savedContextOf } from '../../src/client/recorded-views.ts';
import { MEMORY_AUTHOR } from '../../src/core/domain/memory.ts';
import { readBack, type ReadBackRun } from '../../src/history/read-run.ts';
import { recordedChains } from '../history/recorded-histories.ts';

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

  test('the location of a spilled result is taken over with its known fields, and an invalid one is left out', () => {
    const known = { store: 'files', claim: { key: 'k' }, bytes: 3, sha256: 'ab' };
    const spilledOf = (spilled: JsonValue): unknown => {
      const { messages } = given([asks('a'), { ...gives('a'), metadata: { spilled } }]);
      expect(checkRunInput({ agent: 'clerk', input: 'Q', messages })).toMatchObject({ ok: true });
      return messages.find((item) => item.type === 'tool_result')?.spilled;
    };
    expect(spilledOf({ ...known, ofNewerVersion: true })).toEqual(known);
    for (const wrong of ['files', { ...known, claim: { key: 1 } }, { ...known, bytes: -1 }, { store: 'files' }]) {
      expect(spilledOf(wrong)).toBeUndefined();
    }
  });

  test("a call that was interrupted is answered right after its message, before the user's next message", () => {
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

function result(toolCallId: string, length: number): ContentItem {
  return { type: 'tool_result', toolCallId, name: 'look', status: 'success', content: ['x'.repeat(length)] };
}

test('the oldest results become markers until the conversation fits, and short ones stay', () => {
  const messages = [result('a', 10), result('b', 1_000), result('c', 1_000), result('d', 1_000)];
  const fitting = fitMessages(messages, 2_500);
  expect(fitting.evicted).toBe(1);
  expect(fitting.messages[1]).toMatchObject({
    toolCallId: 'b',
    content: [expect.stringMatching(/^\[removed to save space: .* 1004 bytes\]$/)],
  });
  expect([fitting.messages[0], ...fitting.messages.slice(2)]).toEqual([messages[0], ...messages.slice(2)]);
  expect(jsonBytes(fitting.messages)).toBeLessThanOrEqual(2_500);
});

test('a conversation that fits is unchanged, and a conversation of only messages stays too large', () => {
  const messages: ContentItem[] = [{ type: 'message', role: 'user', content: 'x'.repeat(1_000) }];
  expect(fitMessages(messages, 2_000)).toEqual({ messages, evicted: 0 });
  expect(fitMessages(messages, 100)).toEqual({ messages, evicted: 0 });
});

const chains = [...(await recordedChains())];

/** Every execution of the recorded runs of agents that has resolved its agent, as a reader has it without a worker. */
async function executions(): Promise<{ runId: string; run: ReadBackRun }[]> {
  const read = chains.flatMap(([runId, links]) =>
    links.map(async ({ recorded }, index) => ({ runId, run: await readBack(runId, recorded, links[index + 1]?.recorded.continuedState) })),
  );
  return (await Promise.all(read)).filter(({ run }) => run.state !== undefined && run.state.program === undefined);
}

describe('the recorded runs', () => {
  test('are saved as readable documents, with the window of the run, without recalled texts, as their conversation', async () => {
    const runs = await executions();
    expect(runs.length).toBeGreaterThan(50);
    for (const { runId, run } of runs) {
      const saved = savedContextOf(runId, run);
      expect(readSavedContext(JSON.parse(JSON.stringify(saved)))).toEqual({ ok: true, context: saved, warnings: [] });
      const { window, snapshot, context, usage } = conversationState(runId, run);
      // Results that are apart from their calls are put after them: the items are compared without their order.
      const items = window.events.filter(({ author }) => author !== MEMORY_AUTHOR).flatMap(({ content }) => content);
      const { messages, notices } = givenMessages(saved);
      expect(notices).toEqual([]);
      expect(conversationProblems(messages, 'messages')).toEqual([]);
      expect(messages.map((item) => JSON.stringify(item)).toSorted()).toEqual(
        items
          .filter((item) => item.type !== 'message' || item.role !== 'assistant' || item.content.length > 0)
          .map((item) => JSON.stringify(item))
          .toSorted(),
      );
      expect(saved).toMatchObject({
        agent_name: snapshot.name,
        iteration: context.currentStep,
        usage: { total_tokens: usage.totalTokens },
      });
    }
  });

  test('have a conversation if they are runs of agents that a worker has resolved', () => {
    const nothing = { modelCalls: new Map(), toolCalls: new Map(), localAttempts: [] };
    const known = { agentName: 'clerk', startedAt: 0, executions: 1, queued: 0, unread: [], waited: new Set<string>(), ...nothing };
    expect(() => savedContextOf('r', known)).toThrow('Run "r" has no conversation: no worker has resolved its agent so far');
  });

  test('have no given messages if they are runs of programs', async () => {
    const programs = chains.filter(([, [link]]) => link?.recorded.program !== undefined);
    const [[runId, [link]] = ['', []]] = programs;
    if (link === undefined) throw new Error('No program is recorded');
    const run = await readBack(runId, link.recorded);
    expect(() => savedContextOf(runId, run)).toThrow(`Run "${runId}" is the run of a program, which has no conversation`);
  });
});
