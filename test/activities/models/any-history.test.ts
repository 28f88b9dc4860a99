import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { buildRequest } from '../../../activities/model-calls/build-request.ts';
import { openai } from '../../../activities/models/index.ts';
import type { ContentItem } from '../../../src/core/domain/content/content.ts';
import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import type { ConversationEvent } from '../../../src/core/domain/model/model.ts';
import { itemsFor, recordedItems } from '../../../src/core/domain/record/provider-items.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { chatStream, says } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { type ChatBody, PROVIDER_RULES, unsoundness } from './provider-rules.ts';

let server: FakeOpenAI;
let account = '';
beforeAll(async () => {
  server = await startFakeOpenAI();
  server.script(chatStream([{ reasoning_content: 'r' }, { content: 'Hi' }]));
  const answer = await clientOf().call(requestOf([]), { signal: new AbortController().signal });
  account = answer.account ?? '';
});
afterAll(() => server.close());

const AGENT = snapshotOf(
  defineAgent({
    name: 'clerk',
    model: 'p/m',
    instructions: ['One.', 'Two.'],
    tools: [defineTool({ name: 'look', description: 'd', parameters: z.object({}), execute: () => 'x' })],
    output: z.object({ a: z.string() }),
    settings: { temperature: 0.5, maxOutputTokens: 9, toolChoice: 'required', parallelToolCalls: true, reasoningEffort: 'low' },
  }),
);
const clientOf = (): ReturnType<typeof openai> => openai({ apiKey: 'sk-test-0123456789', baseURL: server.url });
const requestOf = (conversation: ConversationEvent[]): ReturnType<typeof buildRequest> => buildRequest(AGENT, conversation, false);

/** One thing that happens in a run: a message, an answer, or an answer with calls and those of their results that there are. */
type Happening =
  | { type: 'user'; texts: string[]; image: boolean }
  | { type: 'system' }
  | { type: 'answer'; text: string; opaque: Opaque }
  | { type: 'calls'; text: string; opaque: Opaque; calls: { id: string; name: string; result: 'text' | 'empty' | 'image' | 'none' }[] };
type Opaque = 'none' | 'own' | 'of another account' | 'of another model' | 'that does not fit';

const text = fc.constantFrom('', ' ', 'said', 'said', 'said');
const opaque = fc.constantFrom<Opaque>('none', 'own', 'own', 'of another account', 'of another model', 'that does not fit');
const oneCall = fc.record({
  id: fc.constantFrom('call', 'functions.look:0', 'chatcmpl-tool-576c28ae7fe44cde8ffeed533d5e3a02-and-more', 'a b', 'ünï', 'abc123XYZ'),
  name: fc.constantFrom('look', 'look up', 'gone', 'x'.repeat(90)),
  result: fc.constantFrom('text' as const, 'text' as const, 'empty' as const, 'image' as const, 'none' as const),
});
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('user' as const),
      texts: fc.array(text, { minLength: 1, maxLength: 2 }),
      image: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('system' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('answer' as const), text, opaque }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('calls' as const), text, opaque, calls: fc.array(oneCall, { minLength: 1, maxLength: 3 }) }),
  },
);

/** The conversation of a run, and the words that must still be in the request. */
function conversationOf(happenings: readonly Happening[]): { conversation: ConversationEvent[]; words: string[] } {
  const words: string[] = [];
  let count = 0;
  const marked = (said: string): string => {
    if (said.trim() === '') return said;
    words.push(`${said}-${++count}.`);
    return words.at(-1) ?? '';
  };
  const image = { type: 'image' as const, data: 'AAAA' };
  const conversation = happenings.flatMap((one): ConversationEvent[] => {
    if (one.type === 'user') {
      return one.texts.map((said) => {
        const content = marked(said);
        return {
          author: 'user',
          content: [{ type: 'message', role: 'user', content: one.image ? [{ type: 'text', text: content }, image] : content }],
        };
      });
    }
    if (one.type === 'system') return [{ author: 'system', content: [{ type: 'message', role: 'system', content: marked('rule') }] }];
    const said: ContentItem[] =
      one.text === '' && one.type === 'calls' ? [] : [{ type: 'message', role: 'assistant', content: marked(one.text) }];
    if (one.type === 'answer') return [{ author: 'clerk', content: said, ...itemsOf(one.opaque, one.text, 0) }];
    const calls = one.calls.map(({ id, name, result }) => ({ id: `${id}${++count}`, name, result, mark: marked('argument') }));
    const asked = calls.map(({ id, name, mark }): ContentItem => ({ type: 'tool_call', toolCallId: id, name, arguments: { mark } }));
    const answered = calls.flatMap(({ id, name, result }): ContentItem[] => {
      if (result === 'none') return [];
      const content: JsonValue[] = result === 'empty' ? [''] : [marked('result'), ...(result === 'image' ? [image] : [])];
      return [{ type: 'tool_result', toolCallId: id, name, status: 'success', content }];
    });
    const event: ConversationEvent = { author: 'clerk', content: [...said, ...asked], ...itemsOf(one.opaque, one.text, calls.length) };
    return answered.length === 0 ? [event] : [event, { author: 'clerk', content: answered }];
  });
  return { conversation, words };
}

/** What the run gives the client back of what a provider sent beside an answer. */
function itemsOf(kind: Opaque, said: string, calls: number): Pick<ConversationEvent, 'providerItems' | 'account'> {
  if (kind === 'none') return {};
  const foreign = kind !== 'own';
  const items: JsonValue[] = [
    { t: 'message', reasoning_content: foreign ? 'foreign' : 'own' },
    ...(said.trim() === '' ? [] : [{ t: 'text' }]),
    ...Array.from({ length: kind === 'that does not fit' ? calls + 1 : calls }, (_, i) => ({
      t: 'call',
      i,
      ...(i === 0 ? { extra_content: { google: { thought_signature: foreign ? 'foreign' : 'own' } } } : {}),
    })),
  ];
  const owner = { by: kind === 'of another model' ? 'p/other' : 'p/m', account: kind === 'of another account' ? '00000000' : account };
  return itemsFor('p/m', recordedItems(owner, items));
}

/** The rules of one provider. */
const rules = fc
  .subarray(Object.keys(PROVIDER_RULES), { maxLength: 8 })
  .filter((names) => names.every((name) => !(PROVIDER_RULES[name]?.without ?? []).some((other) => names.includes(other))));

/** Serves as a provider with these rules. Returns the bodies that it gets, and what it refused. */
function serve(names: readonly string[]): { bodies: ChatBody[]; refused: string[] } {
  const served: { bodies: ChatBody[]; refused: string[] } = { bodies: [], refused: [] };
  server.script((reply, request) => {
    const body = request.body as ChatBody;
    served.bodies.push(body);
    const broken = names.find((name) => PROVIDER_RULES[name]?.isBroken(body));
    const rule = broken === undefined ? undefined : PROVIDER_RULES[broken];
    if (broken === undefined || rule === undefined) return says('{"a":"done"}')(reply, request);
    served.refused.push(broken);
    return reply.json(rule.status, { error: { message: rule.refusal, type: 'invalid_request_error' } });
  });
  return served;
}

test('after any history, the request that is sent at last fits the rules of any provider, and nothing of the conversation is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 10 }), fc.array(happening, { maxLength: 4 }), rules, async (first, more, names) => {
      const client = clientOf();
      const seen = new Set<string>();
      for (const happenings of [first, [...first, ...more]]) {
        const { conversation, words } = conversationOf(happenings);
        const served = serve(names);
        const { notices = [] } = await client.call(requestOf(conversation), { signal: new AbortController().signal });
        const texts = served.bodies.map((body) => JSON.stringify(body));
        expect(new Set(texts).size).toBe(texts.length);
        for (const body of served.bodies) expect(unsoundness(body)).toBeUndefined();
        for (const sent of texts) expect(sent).not.toContain('foreign');
        for (const word of words) expect(texts.at(-1)).toContain(word);
        expect(notices).toHaveLength(served.refused.length);
        // What has been learned is not asked for again. A rule without a word about it is learned as far as it has helped.
        expect(served.refused.filter((name) => name !== 'silentOrder' && seen.has(name))).toEqual([]);
        for (const name of served.refused) seen.add(name);
      }
    }),
    { numRuns: 150 },
  );
}, 120_000);
