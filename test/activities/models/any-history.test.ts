import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { buildRequest } from '../../../src/model/build-request.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { type ConversationEvent, itemsFor, recordedItems } from '../../../src/core/domain/model.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { chatStream, outputMessage, responsesStream, says } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import {
  type ChatBody,
  chatUnsoundness,
  PROVIDER_RULES,
  type ProviderRule,
  RESPONSES_RULES,
  type ResponsesBody,
  responsesUnsoundness,
} from './provider-rules.ts';
import { propertyRuns } from '../../property-runs.ts';

/** The facts about one of the two APIs that a test needs. */
interface Api {
  name: 'chat' | 'responses';
  rules: Readonly<Record<string, ProviderRule>>;
  /** What no provider takes in any conversation. */
  unsoundness: (body: unknown) => string | undefined;
  /** The answer that fits the schema of the agent. */
  answer: Handler;
  /** The items that a provider sent with an answer with this text and so many calls. Their value is `whose`. */
  opaqueItems: (whose: string, hasText: boolean, calls: number) => JsonValue[];
}

const REASONING = (whose: string): Record<string, JsonValue> => ({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: whose });
const CHAT: Api = {
  name: 'chat',
  rules: PROVIDER_RULES as Readonly<Record<string, ProviderRule>>,
  unsoundness: (body) => chatUnsoundness(body as ChatBody),
  answer: says('{"a":"done"}'),
  opaqueItems: (whose, hasText, calls) => [
    { t: 'message', reasoning_content: whose },
    ...(hasText ? [{ t: 'text' }] : []),
    ...Array.from({ length: calls }, (_, i) => ({
      t: 'call',
      i,
      ...(i === 0 ? { extra_content: { google: { thought_signature: whose } } } : {}),
    })),
  ],
};
const RESPONSES: Api = {
  name: 'responses',
  rules: RESPONSES_RULES as Readonly<Record<string, ProviderRule>>,
  unsoundness: (body) => responsesUnsoundness(body as ResponsesBody),
  answer: responsesStream([outputMessage('{"a":"done"}')]),
  opaqueItems: (whose, hasText, calls) => [
    { t: 'item', item: REASONING(whose) },
    ...(hasText ? [{ t: 'text' }] : []),
    ...Array.from({ length: calls }, (_, i) => ({ t: 'call', i })),
  ],
};

let server: FakeOpenAI;
let account = '';
beforeAll(async () => {
  server = await startFakeOpenAI();
  server.script(chatStream([{ reasoning_content: 'r' }, { content: 'Hi' }]));
  const answer = await clientOf('chat').call(requestOf([]), { signal: new AbortController().signal });
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
const clientOf = (api: Api['name']): ReturnType<typeof openai> => openai({ api, apiKey: 'sk-test-0123456789', baseURL: server.url });
const requestOf = (conversation: ConversationEvent[]): ReturnType<typeof buildRequest> => buildRequest(AGENT, conversation, false);

/** One thing that happens in a run: a message, an answer, or an answer with calls and any results of them. */
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
function conversationOf(api: Api, happenings: readonly Happening[]): { conversation: ConversationEvent[]; words: string[] } {
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
    if (one.type === 'answer') return [{ author: 'clerk', content: said, ...itemsOf(api, one.opaque, one.text, 0) }];
    const calls = one.calls.map(({ id, name, result }) => ({ id: `${id}${++count}`, name, result, mark: marked('argument') }));
    const asked = calls.map(({ id, name, mark }): ContentItem => ({ type: 'tool_call', toolCallId: id, name, arguments: { mark } }));
    const answered = calls.flatMap(({ id, name, result }): ContentItem[] => {
      if (result === 'none') return [];
      const content: JsonValue[] = result === 'empty' ? [''] : [marked('result'), ...(result === 'image' ? [image] : [])];
      return [{ type: 'tool_result', toolCallId: id, name, status: 'success', content }];
    });
    const event: ConversationEvent = { author: 'clerk', content: [...said, ...asked], ...itemsOf(api, one.opaque, one.text, calls.length) };
    return answered.length === 0 ? [event] : [event, { author: 'clerk', content: answered }];
  });
  return { conversation, words };
}

/** The items sent with an answer that the run returns to the client. */
function itemsOf(api: Api, kind: Opaque, said: string, calls: number): Pick<ConversationEvent, 'providerItems' | 'account'> {
  if (kind === 'none') return {};
  const items = api.opaqueItems(kind === 'own' ? 'own' : 'foreign', said.trim() !== '', kind === 'that does not fit' ? calls + 1 : calls);
  const owner = { by: kind === 'of another model' ? 'p/other' : 'p/m', account: kind === 'of another account' ? '00000000' : account };
  return itemsFor('p/m', recordedItems(owner, items));
}

/** The rules of one provider. */
function someRules(rules: Api['rules']): fc.Arbitrary<string[]> {
  const fits = (names: string[]): boolean => names.every((name) => !(rules[name]?.without ?? []).some((other) => names.includes(other)));
  return fc.subarray(Object.keys(rules), { maxLength: 8 }).filter(fits);
}

/** Serves as a provider with these rules. Returns the bodies that it gets, and what it refused. */
function serve({ rules, answer }: Api, names: readonly string[]): { bodies: unknown[]; refused: string[] } {
  const served: { bodies: unknown[]; refused: string[] } = { bodies: [], refused: [] };
  server.script((reply, request) => {
    served.bodies.push(request.body);
    const broken = names.find((name) => rules[name]?.isBroken(request.body));
    const rule = broken === undefined ? undefined : rules[broken];
    if (broken === undefined || rule === undefined) return answer(reply, request);
    served.refused.push(broken);
    return reply.json(rule.status, { error: { message: rule.refusal, type: 'invalid_request_error' } });
  });
  return served;
}

test.each([CHAT, RESPONSES])(
  'after any history, the request to $name that is sent at last fits the rules of any provider, and nothing of the conversation is lost',
  async (api) => {
    const histories = [fc.array(happening, { maxLength: 10 }), fc.array(happening, { maxLength: 4 })] as const;
    await fc.assert(
      fc.asyncProperty(...histories, someRules(api.rules), async (first, more, names) => {
        const client = clientOf(api.name);
        const seen = new Set<string>();
        for (const happenings of [first, [...first, ...more]]) {
          const { conversation, words } = conversationOf(api, happenings);
          const served = serve(api, names);
          const { notices = [] } = await client.call(requestOf(conversation), { signal: new AbortController().signal });
          const texts = served.bodies.map((body) => JSON.stringify(body));
          expect(new Set(texts).size).toBe(texts.length);
          for (const body of served.bodies) expect(api.unsoundness(body)).toBeUndefined();
          for (const sent of texts) expect(sent).not.toContain('foreign');
          for (const word of words) expect(texts.at(-1)).toContain(word);
          expect(notices).toHaveLength(served.refused.length);
          // A learned rule is not triggered again. A rule without an explanation is learned as far as it has helped.
          expect(served.refused.filter((name) => name !== 'silentOrder' && seen.has(name))).toEqual([]);
          for (const name of served.refused) seen.add(name);
        }
      }),
      { numRuns: propertyRuns(150) },
    );
  },
  120_000,
);
