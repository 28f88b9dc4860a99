import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { isToolCall, type ToolCall, type ToolResult } from '../../src/core/domain/content.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { ModelResponse } from '../../src/core/domain/model.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { isTerminal } from '../../src/core/domain/run.ts';
// oxlint-disable-next-line import/no-unassigned-import -- it composes the capabilities, which a run of the loop has.
import '../../src/core/capabilities.ts';
import type { AllPorts } from '../../src/core/capabilities.ts';
import { quietPorts } from '../core/loop/fakes/fake-ports.ts';
import { runLoop } from '../../src/core/kernel/run-loop.ts';
import { newRunState, type RunState } from '../../src/core/kernel/run-state.ts';
import { wellFormed } from '../../src/model/parse-json.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { snapshotOf } from '../fakes/snapshot.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number(), note: z.string().optional() }),
  execute: ({ a, b }) => a + b,
});
const search = defineTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string(), filters: z.record(z.string(), z.string()).optional() }),
  parallel: false,
  execute: () => null,
});
const base = { name: 'bot', model: 'scripted/model' as const, tools: [add, search], limits: { steps: 3 } };
const output = z.object({ answer: z.string(), score: z.number().default(1) });
const SNAPSHOTS: AgentSnapshot[] = [
  snapshotOf(defineAgent(base)),
  snapshotOf(defineAgent({ ...base, finalAttempt: true, output })),
  snapshotOf(defineAgent({ ...base, output, outputMode: 'final_answer', outputRetries: 1 })),
];

/** Texts of faulty providers: any UTF-16, lone surrogates included, and sometimes very long. */
const wildText = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 3, arbitrary: fc.constantFrom('', ' ', '\ud800', 'a\udfffb', '\u0000', '__proto__', 'constructor') },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 60_000 }).map((length) => '\ud83d'.repeat(length)) },
);
const anything = fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true });
const argumentsText = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.record({ a: fc.double(), b: fc.integer(), note: fc.option(wildText) }).map((value) => JSON.stringify(value)),
  fc.record({ output: fc.oneof(anything, fc.record({ answer: fc.string() })) }).map((value) => attempt(() => JSON.stringify(value))),
  fc.constantFrom(
    '{"a":1,"b":2',
    "{'a': 1, 'b': 2}",
    '{"a":1,"b":2}{"a":3}',
    '{"query":"x',
    '```json\n{"query":"x"}\n```',
    '[1,2]',
    'null',
    '"text"',
  ),
  fc.constantFrom('{"a":'.repeat(5_000), '['.repeat(20_000) + ']'.repeat(20_000), `{"query":"${'x'.repeat(50_000)}`),
  wildText,
);
const callArguments = fc.oneof({ weight: 5, arbitrary: argumentsText }, { weight: 1, arbitrary: anything });
const callName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('add', 'search', 'final_answer', 'nope') },
  { weight: 1, arbitrary: fc.oneof(wildText, anything) },
);
const callId = fc.oneof(fc.constantFrom('c1', 'c2', 'c1-2', '__proto__'), wildText, anything);
const fields = fc.record({ id: callId, name: callName, arguments: callArguments }, { requiredKeys: [] });
const toolCall = fc.oneof(
  { weight: 6, arbitrary: fields },
  { weight: 2, arbitrary: fields.map(({ id, ...rest }) => ({ id, function: rest })) },
  { weight: 1, arbitrary: anything },
);
const response = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record(
      {
        content: fc.oneof(wildText, argumentsText, fc.constant('{"answer":"yes"}'), anything),
        toolCalls: fc.oneof({ weight: 6, arbitrary: fc.array(toolCall, { maxLength: 4 }) }, { weight: 1, arbitrary: anything }),
        usage: fc.oneof(
          fc.constant(null),
          anything,
          fc.record({ promptTokens: fc.double(), completionTokens: fc.integer(), totalTokens: anything }),
        ),
        finishReason: fc.oneof(fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter', 'eos', null), wildText),
        refusal: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: anything }),
        structured: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: anything }),
        confidence: anything,
        providerItems: anything,
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: anything },
);

function attempt(make: () => string): string {
  try {
    return make() ?? '';
  } catch {
    return '{';
  }
}

/** Runs the real loop on responses that have passed the real interpretation and JSON, as they do on Temporal. */
async function run(snapshot: AgentSnapshot, responses: unknown[]): Promise<{ state: RunState; finished: RunResultFields; asked: number }> {
  let ids = 0;
  let asked = 0;
  const uuid = (): string => `id-${(ids += 1)}`;
  const ports: AllPorts = {
    ...quietPorts(),
    now: () => 1_700_000_000_000,
    uuid,
    cancelRequested: () => false,
    callModel: async () => {
      const raw = responses[(asked += 1) - 1] ?? { content: 'done', toolCalls: [], usage: null, finishReason: 'stop' };
      const known = new Set(callsOf(state).map((call) => call.toolCallId));
      const isUsedCallId = (id: string): boolean => known.has(id);
      const recorded = interpretResponse(raw as ModelResponse, { snapshot, outputZod: output, isUsedCallId, eventId: 'event', uuid });
      expect(wellFormed(JSON.parse(JSON.stringify(recorded)) as JsonValue)).toEqual(recorded);
      return { type: 'response', response: JSON.parse(JSON.stringify(recorded)) };
    },
    runTool: async ({ call }) => ({ type: 'result', status: 'success', content: [call.name], durationMs: 1 }),
  };
  const state = newRunState({ runId: 'run', snapshot, input: 'Q', startedAt: 0 }, ports);
  const end = await runLoop(state, ports);
  if (end.type !== 'finished') throw new Error('The loop continues in another execution');
  return { state, finished: end.result, asked };
}

function callsOf(state: RunState): ToolCall[] {
  return state.context.events.flatMap((event) => event.content.filter(isToolCall));
}

function resultsOf(state: RunState): ToolResult[] {
  return state.context.events.flatMap((event) => event.content.filter((item) => item.type === 'tool_result'));
}

test('10,000 malformed responses: every run ends, and every call has exactly one result', async () => {
  let interpreted = 0;
  let calls = 0;
  const responses = fc.array(response, { minLength: 4, maxLength: 4 });
  const runs = fc.asyncProperty(fc.constantFrom(...SNAPSHOTS), responses, async (snapshot, generated) => {
    // A response that ends its run leaves the others to further runs, so that each is interpreted.
    for (let rest: unknown[] = generated; rest.length > 0;) {
      const { state, finished, asked } = await run(snapshot, rest);
      expect(isTerminal(finished.status)).toBe(true);
      const callIds = callsOf(state).map((call) => call.toolCallId);
      expect(new Set(callIds).size).toBe(callIds.length);
      expect(resultsOf(state).map((result) => result.toolCallId)).toEqual(callIds);
      expect(state.steps.flatMap((step) => step.toolCalls).map((record) => record.callId)).toEqual(callIds);
      calls += callIds.length;
      interpreted += Math.min(asked, rest.length);
      rest = rest.slice(asked);
    }
  });
  const outcome = await fc.check(runs, { numRuns: 2_500 });
  // The counterexamples contain huge texts: the seed, the shrunk path and the failed expectation are enough.
  if (outcome.failed) throw new Error(`seed ${outcome.seed}, path ${outcome.counterexamplePath}`, { cause: outcome.errorInstance });
  expect(interpreted).toBe(10_000);
  expect(calls).toBeGreaterThan(5_000);
}, 60_000);
