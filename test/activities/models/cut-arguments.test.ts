import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AnswerFault } from '../../../activities/models/errors/error-body.ts';
import { ChatAnswer } from '../../../activities/models/openai/chat-answer.ts';
import { ResponsesAnswer } from '../../../activities/models/openai/responses-answer.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelResponse } from '../../../src/core/domain/model.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { interpretReply } from '../../../src/model/reply-formats.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';

// Every field is optional, so that whatever an argument text is taken for runs.
const fields = {
  order: z.number(),
  amount: z.number(),
  to: z.string(),
  note: z.string(),
  paths: z.array(z.string()),
  urgent: z.boolean(),
  extra: z.record(z.string(), z.unknown()),
};
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: z.object(fields).partial(), execute: () => 'paid' });
const agent = { name: 'clerk', model: 'scripted/m' as const, tools: [pay] };
const AGENT = snapshotOf(defineAgent(agent));
const JSON_AGENT = snapshotOf(defineAgent({ ...agent, replyFormat: 'json' }));

/** Returns the arguments that the tool would run with, or undefined if it does not run. */
function ranWith(response: ModelResponse, snapshot = AGENT): JsonObject | undefined {
  const recorded = interpretReply(response, { snapshot, isUsedCallId: () => false, eventId: 'e', replyId: 'r', uuid: () => 'u' }, false);
  const call = recorded.content.find(isToolCall);
  if (call === undefined || call.name !== 'pay' || recorded.problems?.[call.toolCallId] !== undefined) return undefined;
  return call.arguments;
}

const WORDS = ['tool_calls', 'stop', 'length', undefined, 'MAX_TOKENS', 'eos', 'gave_up'];
type Client = (text: string, word: string | undefined, cuts: number[]) => ModelResponse;

function partsOf(text: string, cuts: number[]): string[] {
  const at = [...new Set(cuts.map((cut) => Math.floor(cut * text.length)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index]));
}

const piece = (name: string | undefined, args: string, id?: string): object => ({ index: 0, id, function: { name, arguments: args } });

function chatStream(deltas: object[], word: string | undefined): ModelResponse {
  const answer = new ChatAnswer();
  for (const delta of deltas) answer.take({ type: 'data', data: { choices: [{ index: 0, delta: { tool_calls: [delta] } }] } });
  if (word !== undefined) answer.take({ type: 'data', data: { choices: [{ index: 0, delta: {}, finish_reason: word }] } });
  answer.take({ type: 'end' });
  return answer.response();
}

/** A Responses body with the call, with the status that the word means. */
function responsesBody(text: string, word: string | undefined): Record<string, unknown> {
  const cut = word === 'length' || word === 'MAX_TOKENS';
  const item = { type: 'function_call', id: 'fc', call_id: 'c', name: 'pay', arguments: text };
  return {
    status: cut ? 'incomplete' : 'completed',
    ...(cut ? { incomplete_details: { reason: 'max_output_tokens' } } : {}),
    output: [item],
  };
}

const CLIENTS: Record<string, Client> = {
  'chat, streamed': (text, word, cuts) =>
    chatStream(
      partsOf(text, cuts).map((part, at) => piece(at === 0 ? 'pay' : undefined, part, at === 0 ? 'c' : undefined)),
      word,
    ),
  'chat, streamed with everything repeated': (text, word, cuts) =>
    chatStream(
      partsOf(text, cuts).map((part) => piece('pay', part, 'c')),
      word,
    ),
  'chat, streamed without ids': (text, word, cuts) =>
    chatStream(
      partsOf(text, cuts).map((part, at) => piece(at === 0 ? 'pay' : undefined, part)),
      word,
    ),
  'chat, all so far in each chunk': (text, word, cuts) => {
    const parts = partsOf(text, cuts);
    return chatStream(
      parts.map((_, at) => piece('pay', parts.slice(0, at + 1).join(''), 'c')),
      word,
    );
  },
  'chat, whole': (text, word) => {
    const answer = new ChatAnswer();
    answer.take({
      type: 'data',
      data: { choices: [{ message: { content: null, tool_calls: [piece('pay', text, 'c')] }, finish_reason: word ?? null }] },
    });
    answer.take({ type: 'end' });
    return answer.response();
  },
  'chat, legacy': (text, word, cuts) => {
    const answer = new ChatAnswer();
    for (const [at, part] of partsOf(text, cuts).entries()) {
      answer.take({
        type: 'data',
        data: { choices: [{ delta: { function_call: at === 0 ? { name: 'pay', arguments: part } : { arguments: part } } }] },
      });
    }
    answer.take({ type: 'data', data: { choices: [{ delta: {}, finish_reason: word ?? null }] } });
    answer.take({ type: 'end' });
    return answer.response();
  },
  'responses, streamed': (text, word, cuts) => {
    const answer = new ResponsesAnswer();
    const response = responsesBody(text, word);
    const item = { type: 'function_call', id: 'fc', call_id: 'c', name: 'pay' };
    answer.take({ type: 'data', data: { type: 'response.output_item.added', item: { ...item, arguments: '' } } });
    for (const delta of partsOf(text, cuts))
      answer.take({ type: 'data', data: { type: 'response.function_call_arguments.delta', item_id: 'fc', delta } });
    answer.take({ type: 'data', data: { type: 'response.output_item.done', item: { ...item, arguments: text } } });
    answer.take({ type: 'data', data: { type: `response.${String(response['status'])}`, response: { ...response, output: [] } } });
    return answer.response();
  },
  'responses, whole': (text, word) => {
    const answer = new ResponsesAnswer();
    answer.take({ type: 'data', data: responsesBody(text, word) });
    return answer.response();
  },
};

const amount = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }));
const text = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('a@b.org', '/srv/a', '}', '{"order":1}', "it's", '"', '\\', 'a\nb'));
const someArguments = fc
  .tuple(
    fc.record({ order: amount }),
    fc.oneof(
      fc.record({ amount, to: text }, { requiredKeys: [] }),
      fc.record({ note: text, urgent: fc.boolean() }),
      fc.record({ paths: fc.array(text, { maxLength: 2 }) }),
      fc.record({ extra: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }) }),
    ),
  )
  .map(([order, rest]) => ({ ...order, ...rest }));

/** Spellings of the same arguments. Each ends with the bracket of the object. */
const SPELLINGS: ((value: JsonObject) => string)[] = [
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 1),
  (value) =>
    `{${Object.entries(value)
      .map(([key, one]) => `${key}: ${JSON.stringify(one)}`)
      .join(', ')},}`,
  (value) =>
    `{${Object.entries(value)
      .map(([key, one]) => `'${key}': ${typeof one === 'boolean' ? (one ? 'True' : 'False') : JSON.stringify(one)}`)
      .join('\n')}}`,
  (value) => `\`\`\`json\n${JSON.stringify(value)}`,
  (value) => `/* call */ ${JSON.stringify(value)}`,
];

test.each(Object.keys(CLIENTS))(
  'no beginning of any arguments runs a tool with other arguments, over %s',
  (name) => {
    const client = CLIENTS[name];
    const cuts = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 4 });
    fc.assert(
      fc.property(someArguments, fc.constantFrom(...SPELLINGS), cuts, (given, spell, places) => {
        const value = JSON.parse(JSON.stringify(given)) as JsonObject;
        const whole = spell(value);
        const meant = canonicalJson(value);
        for (let length = 0; length <= whole.length; length += 1) {
          for (const word of WORDS) {
            let ran: JsonValue | undefined;
            try {
              ran = client === undefined ? undefined : ranWith(client(whole.slice(0, length), word, places));
            } catch (error) {
              if (!(error instanceof AnswerFault)) throw error;
            }
            if (ran !== undefined && canonicalJson(ran) !== meant) throw new Error(`${JSON.stringify(ran)} of ${whole.slice(0, length)}`);
          }
        }
        const last = client?.(whole, 'tool_calls', []);
        expect(last === undefined ? undefined : canonicalJson(ranWith(last) ?? {})).toBe(meant);
      }),
      { numRuns: 500 },
    );
  },
  120_000,
);

test('no beginning of a reply in JSON runs a tool with other arguments', () => {
  fc.assert(
    fc.property(someArguments, fc.constantFrom('plain', 'fence', 'text'), (given, form) => {
      const value = JSON.parse(JSON.stringify(given)) as JsonObject;
      const reply = JSON.stringify({ tool: 'pay', arguments: form === 'text' ? JSON.stringify(value) : value });
      const whole = form === 'fence' ? `\`\`\`json\n${reply}\n\`\`\`` : reply;
      for (let length = 0; length <= whole.length; length += 1) {
        const finishReason = WORDS[length % WORDS.length] ?? '';
        const ran = ranWith({ content: whole.slice(0, length), toolCalls: [], usage: null, finishReason }, JSON_AGENT);
        expect(ran ?? value).toEqual(value);
      }
      expect(ranWith({ content: whole, toolCalls: [], usage: null, finishReason: 'stop' }, JSON_AGENT)).toEqual(value);
    }),
    { numRuns: 500 },
  );
}, 120_000);
