import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StreamEntry } from '../../../../src/core/domain/stream.ts';
import { ask, defineProgram, unit } from '../../../../src/define/program/index.ts';
import { agentTool, type AnyAgent, defineAgent, defineAnchor, defineFlow, defineGuardrail } from '../../../../src/index.ts';
import { LonghaulClient, type RunHandle, type StreamItem } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { createHandler, type Handler } from '../../../../src/server/index.ts';
import { memoryStreams } from '../../../../src/streams/memory-streams.ts';
import type { StreamSink } from '../../../../src/streams/stream-sink.ts';
import { callTool, say, scriptedModel, type ScriptEntry } from '../../../../src/testing/index.ts';
import { folded } from '../../../fakes/fake-sink.ts';
import { mcpClient } from '../../../server-http/mcp/fake-runs.ts';
import { send } from '../../../server-http/requests.ts';
import { Testbed } from '../../testbed/testbed.ts';

const SECRET = 'the secret word is xyzzy';
const OPEN = 'I hand you over';

const OUTCOMES = ['passed', 'blocked', 'fails'] as const;
type Outcome = (typeof OUTCOMES)[number];
type Kind = 'direct' | 'handoff' | 'flow' | 'sub-agent';
const KINDS: readonly Kind[] = ['direct', 'handoff', 'flow', 'sub-agent'];

const nameOf = (kind: string, outcome: Outcome): string => `${kind}-${outcome}`;

/** Decides about an answer as its outcome says. */
function decide(outcome: Outcome): boolean {
  if (outcome === 'fails') throw new Error('the check is broken');
  return outcome === 'passed';
}

/** The agents of an outcome: one with a guardrail for its answers, and the ones without that it acts for. */
function agentsOf(outcome: Outcome): AnyAgent[] {
  const model = 'scripted/m';
  const guardrail = defineGuardrail({
    name: 'no-words',
    type: 'output',
    check: () => (decide(outcome) ? { passed: true } : { passed: false, message: 'off limits' }),
  });
  const direct = defineAgent({ name: nameOf('direct', outcome), description: 'Tells', model, guardrails: [guardrail] });
  const first = defineAgent({ name: nameOf('first', outcome), model, instructions: 'first' });
  return [
    direct,
    first,
    defineAgent({ name: nameOf('handoff', outcome), model, instructions: 'triage', handoffs: [direct] }),
    defineFlow({ name: nameOf('flow', outcome), kind: 'sequential', agents: [first, direct] }),
    defineAgent({
      name: nameOf('sub-agent', outcome),
      model,
      instructions: 'leader',
      tools: [agentTool(direct, { name: 'tell', description: 'Tells' })],
    }),
  ];
}

const agents = OUTCOMES.flatMap(agentsOf);

const anchors = OUTCOMES.map((outcome) =>
  defineAnchor({ name: `Anchor-${outcome}`, reject: ['secrets'], check: () => (decide(outcome) ? [] : ['It tells a secret']) }),
);

const programs = OUTCOMES.map((outcome) =>
  defineProgram({
    name: nameOf('program', outcome),
    model: 'scripted/m',
    units: [unit('main', { anchors: [`Anchor-${outcome}`] }, [ask('Tell', 'Tell')])],
  }),
);

/** Answers by the instructions of the agent: triage hands over, a leader calls its agent first, and all others reveal the secret. */
const model: ModelClient = {
  capabilities: { structuredOutput: true },
  call: (request, context) => {
    const [tool] = request.tools;
    const isAnswered = request.conversation.some(({ content }) => content.some(({ type }) => type === 'tool_result'));
    const slowly = { chunks: 6, every: '5ms' } as const;
    const entry = (): ScriptEntry => {
      if (tool !== undefined && !isAnswered) {
        const { enum: names = [] } = (tool.parameters['properties'] as Record<string, { enum?: string[] }>)['agent'] ?? {};
        return { ...callTool(tool.name, tool.name === 'tell' ? { request: 'Tell' } : { agent: names[0] }), text: OPEN };
      }
      if (request.instructions.includes('leader')) return say('It has ended', slowly);
      if (request.instructions.includes('first')) return say(OPEN, slowly);
      return say(SECRET, { ...slowly, reasoning: `I might say: ${SECRET}` });
    };
    return scriptedModel([entry()]).call(request, context);
  },
};

/** A sink in the process, and everything that it got. */
function observedSink(): { sink: StreamSink; entries: StreamEntry[] } {
  const inner = memoryStreams();
  const entries: StreamEntry[] = [];
  const sink: StreamSink = {
    name: 'observed',
    open: (context) => {
      const channel = inner.open(context);
      return {
        get announces() {
          return channel.announces;
        },
        publish: (runId, entry, activity) => {
          entries.push(structuredClone(entry));
          channel.publish(runId, entry, activity);
        },
        read: (runId, options) => channel.read(runId, options),
        removeRun: (runId) => channel.removeRun(runId),
        health: () => channel.health(),
        close: () => channel.close(),
      };
    },
  };
  return { sink, entries };
}

const { sink, entries } = observedSink();
let testbed: Testbed;
let client: LonghaulClient;
/** Knows no agent: what may be shown is known by the run alone. */
let handler: Handler;

beforeAll(async () => {
  testbed = await Testbed.open();
  await testbed.work({ agents, programs, anchors, providers: { scripted: model }, streams: sink });
  client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams: sink });
  handler = createHandler(client);
});

afterAll(async () => {
  await testbed[Symbol.asyncDispose]();
});

async function collect(handle: Pick<RunHandle<unknown>, 'stream'>): Promise<StreamItem[]> {
  return Array.fromAsync(handle.stream());
}

/** The provisional text and reasoning of items. */
function provisional(items: readonly StreamItem[]): string {
  return items.map((item) => (item.type === 'delta' && 'text' in item.delta ? item.delta.text : '')).join('');
}

const post = async (path: string, body: object): Promise<string> => (await send(handler, 'POST', path, { body })).text();

/** The data of the messages of an event stream. */
function dataOf<Data>(text: string): Data[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as Data);
}

/** What the end of a run says of an answer that was not passed, or the answer. */
function isToldOf(outcome: Outcome, kind: string): RegExp {
  if (kind === 'sub-agent') return /It has ended/;
  if (outcome === 'passed') return new RegExp(SECRET);
  return kind === 'program' ? /secret|broken/ : /Response blocked|guardrail_tripped/;
}

/** Follows a run by the client and by server-sent events at once, expects no delta of the answer, and returns the last items. */
async function expectNoDelta(runId: string, { isGuarded = true }: { isGuarded?: boolean } = {}): Promise<string[]> {
  const [items, text] = await Promise.all([
    collect(client.handle(runId)),
    send(handler, 'GET', `/v1/runs/${encodeURIComponent(runId)}/stream`).then(async (response) => response.text()),
  ]);
  const sent = dataOf<StreamItem>(text);
  for (const read of [items, sent]) {
    expect(provisional(read)).not.toContain('secret');
    const events = read.flatMap((item) =>
      item.type === 'event' && JSON.stringify(item.event.content).includes(SECRET) ? [item.event] : [],
    );
    // The record has it, as given by an agent whose guardrails decide about it.
    expect(events.filter(({ guarded }) => guarded)).toHaveLength(isGuarded ? 1 : 0);
  }
  return [items, sent].map((read) => JSON.stringify(read.at(-1)));
}

describe.each(OUTCOMES)('an answer that %s', (outcome) => {
  test.each(KINDS)(
    'of an agent that is asked by %s: no delta leaves the process, and every protocol shows it whole or not at all',
    async (kind) => {
      const agent = nameOf(kind, outcome);
      const isShown = outcome === 'passed' && kind !== 'sub-agent';
      const told = isToldOf(outcome, kind);

      const { runId } = await client.start(agent, { input: 'Tell me' });
      for (const end of await expectNoDelta(runId, { isGuarded: kind !== 'sub-agent' })) expect(end).toMatch(told);
      const steps = await client.handle(runId).steps();
      const children = steps.flatMap(({ toolCalls }) => toolCalls).flatMap(({ childRunId }) => childRunId ?? []);
      expect(children).toHaveLength(kind === 'sub-agent' ? 1 : 0);
      for (const child of children) for (const end of await expectNoDelta(child)) expect(end).toMatch(isToldOf(outcome, 'direct'));

      const chat = await post(`/v1/agents/${agent}/chat`, {
        id: `chat-${randomUUID()}`,
        messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Tell me' }] }],
      });
      const chunks = dataOf<{ type: string; delta?: string }>(chat);
      const shown = chunks.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join('');
      expect(shown).toMatch(outcome === 'passed' || kind === 'sub-agent' ? told : /Response blocked/);
      // The model that asked the sub-agent reads an answer that has passed, and so does whoever follows the call.
      expect(chat.includes('secret')).toBe(outcome === 'passed');
      expect(shown.includes('secret')).toBe(isShown);

      const completion = await post('/v1/chat/completions', {
        model: agent,
        stream: true,
        messages: [{ role: 'user', content: 'Tell me' }],
      });
      const contents = dataOf<{ choices: { delta: { content?: string } }[] }>(completion);
      const content = contents.map(({ choices }) => choices.map(({ delta }) => delta.content ?? '').join('')).join('');
      expect(content).toMatch(told);
      expect(completion.includes('secret')).toBe(isShown);
      expect(content.includes(SECRET)).toBe(isShown);

      const response = await post('/v1/responses', { model: agent, stream: true, input: 'Tell me' });
      const deltas = dataOf<{ type: string; delta?: string; response?: { id: string } }>(response);
      const text = deltas.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
      expect(text).toMatch(told);
      expect(text.includes(SECRET)).toBe(isShown);
      expect(response.includes('secret')).toBe(outcome === 'passed');
      const id = deltas.find(({ response: one }) => one !== undefined)?.response?.id ?? '';
      const read = await (await send(handler, 'GET', `/v1/responses/${encodeURIComponent(id)}`)).text();
      expect(read.includes('secret')).toBe(outcome === 'passed');

      await using mcp = await mcpClient(createHandler(client, { agents: agents.filter(({ name }) => name === agent) }), 'auto');
      const progress: unknown[] = [];
      const called = await mcp.callTool({ name: agent, arguments: { input: 'Tell me' } }, { onprogress: (one) => progress.push(one) });
      expect(JSON.stringify(progress)).not.toContain('secret');
      expect(JSON.stringify(called).includes(SECRET)).toBe(isShown);
    },
  );

  test('in a session: no delta leaves the process, and the result of the turn says so', async () => {
    const session = client.session(nameOf('direct', outcome), { id: `session-${randomUUID()}` });
    const turn = await session.ask('Tell me').catch((error: unknown) => error);
    await session.close();
    await expectNoDelta(session.run.runId);
    expect(JSON.stringify(turn, null, 1) + String(turn)).toMatch(isToldOf(outcome, 'direct'));
  });

  test('in a program, by an anchor: no delta leaves the process', async () => {
    const { runId } = await client.startProgram(nameOf('program', outcome), {});
    for (const end of await expectNoDelta(runId, { isGuarded: false })) expect(end).toMatch(isToldOf(outcome, 'program'));
  });
});

test('nothing that a worker has published holds a part of a guarded answer, and answers without guardrails stream', () => {
  const deltas = Object.values(folded(entries)).flat();
  const texts = deltas.flatMap((delta) => ('text' in delta && delta.type !== 'tool_input' ? [delta.text] : []));
  expect(texts.filter((text) => text.includes('secret'))).toEqual([]);
  expect(new Set(texts)).toEqual(new Set([OPEN, 'It has ended']));
});
