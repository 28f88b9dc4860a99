import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import { type FakeOpenAI, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { modelRequest } from './fake-provider.ts';
import { propertyRuns } from '../../property-runs.ts';

let server: FakeOpenAI;
beforeAll(async () => {
  server = await startFakeOpenAI();
});
afterAll(async () => server.close());

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
const text = fc.string({ unit: 'binary', maxLength: 50 });
const odd = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: json });

const call = fc.record(
  {
    index: odd(fc.nat(3)),
    id: odd(fc.constantFrom('c1', 'c2', '')),
    function: odd(fc.record({ name: odd(text), arguments: odd(text) }, { requiredKeys: [] })),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  { content: odd(text), refusal: odd(text), tool_calls: odd(fc.array(odd(call), { maxLength: 3 })) },
  { requiredKeys: [] },
);
const finish = odd(fc.constantFrom('stop', 'length', 'tool_calls', 'whatever', null));
const choice = fc.record(
  { index: odd(fc.nat(1)), delta: odd(message), message: odd(message), finish_reason: finish },
  { requiredKeys: [] },
);
const usage = odd(fc.record({ prompt_tokens: json, completion_tokens: json, prompt_tokens_details: json, output_tokens_details: json }));
const chatData = fc.record(
  { choices: odd(fc.array(odd(choice), { maxLength: 2 })), usage, error: fc.oneof(fc.constant(null), json) },
  { requiredKeys: ['choices'] },
);

const part = fc.record(
  { type: odd(fc.constantFrom('output_text', 'refusal')), text: odd(text), refusal: odd(text) },
  { requiredKeys: ['type'] },
);
const itemType = odd(fc.constantFrom('message', 'function_call', 'reasoning'));
const item = fc.record(
  {
    type: itemType,
    content: odd(fc.array(odd(part), { maxLength: 2 })),
    call_id: odd(text),
    name: odd(text),
    arguments: odd(text),
    encrypted_content: odd(text),
  },
  { requiredKeys: ['type'] },
);
const response = fc.record(
  {
    status: odd(fc.constantFrom('completed', 'incomplete', 'failed')),
    output: odd(fc.array(odd(item), { maxLength: 3 })),
    usage,
    error: json,
    incomplete_details: json,
  },
  { requiredKeys: [] },
);
const event = fc.record(
  {
    type: odd(
      fc.constantFrom(
        'response.completed',
        'response.incomplete',
        'response.failed',
        'response.output_item.done',
        'response.output_text.delta',
        'error',
      ),
    ),
    response: odd(response),
    item: odd(item),
    delta: odd(text),
  },
  { requiredKeys: ['type'] },
);

/** The form of an answer: events, one document, or arbitrary bytes. */
const answer = fc.record({
  api: fc.constantFrom('chat' as const, 'responses' as const),
  whole: fc.boolean(),
  data: fc.array(fc.oneof(chatData, event, response, json), { maxLength: 4 }),
  noise: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, text),
  done: fc.boolean(),
});

/** A failure must be classified: `model_timeout` would be a client that hangs, `model_error` one with an unexpected exception. */
function kindOf(result: unknown): 'answer' | 'failure' | 'neither' {
  if (result instanceof ModelCallError) return ['model_timeout', 'model_error'].includes(result.code) ? 'neither' : 'failure';
  if (!isJsonObject(result)) return 'neither';
  const { content, toolCalls, finishReason } = result;
  return typeof content === 'string' && Array.isArray(toolCalls) && typeof finishReason === 'string' ? 'answer' : 'neither';
}

describe('answers outside of every API', () => {
  test('end every call, with an answer or with a ModelCallError', async () => {
    const outcomes = { answer: 0, failure: 0, neither: 0 };
    await fc.assert(
      fc.asyncProperty(answer, async ({ api, whole, data, noise, done }) => {
        server.script((reply) => {
          if (whole) return reply.json(200, data[0] ?? null);
          reply.events(...data);
          reply.raw(`${noise}${done ? '\n\ndata: [DONE]\n\n' : ''}`);
          reply.end();
        });
        const client = openai({ api, baseURL: server.url, apiKey: 'sk-test-0123456789', timeout: 5000 });
        const result = await client.call(modelRequest(), { signal: new AbortController().signal }).catch((error: unknown) => error);
        const kind = kindOf(result);
        expect({ kind, result: String(result) }).not.toMatchObject({ kind: 'neither' });
        outcomes[kind] += 1;
      }),
      { numRuns: propertyRuns(1000) },
    );
    // Both outcomes must be frequent, otherwise the generator tests nothing.
    expect(outcomes.answer).toBeGreaterThan(propertyRuns(50));
    expect(outcomes.failure).toBeGreaterThan(propertyRuns(50));
  }, 60_000);
});
