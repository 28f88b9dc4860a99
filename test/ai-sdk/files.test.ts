import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { EVENT } from '../../src/core/domain/record.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { fileStore } from '../../src/stores/payload-store.ts';
import { aiSdk } from '../../worker/index.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';
import { context, type FakeModel, fakeModel, FINISH, request, textParts, type Yielded } from './fake-model.ts';

const directory = await mkdtemp(join(tmpdir(), 'longhaul-files-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const payloadStore = fileStore({ directory });
const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
const IMAGE = Buffer.alloc(300_000, 'x').toString('base64');
const image: StreamPart = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: IMAGE } };
const reasoning: StreamPart[] = [
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
  { type: 'reasoning-end', id: 'r', providerMetadata: { fake: { signature: 'S' } } },
];
const call: StreamPart = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' };
const PART = { type: 'image', mediaType: 'image/png', spilled: expect.objectContaining({ store: 'files', bytes: expect.any(Number) }) };

/** Returns the parts of the first answer, as the second request has them. */
function answerIn({ calls }: FakeModel): unknown[] {
  const messages = (calls[1]?.prompt ?? []) as { role: string; content: unknown[] }[];
  return messages.find(({ role }) => role === 'assistant')?.content ?? [];
}

async function run(answers: readonly Yielded[], output?: z.ZodType) {
  const agent = defineAgent({ name: 'painter', model: 'fake/fake-1', tools: [look], ...(output === undefined ? {} : { output }) });
  const model = fakeModel(answers);
  const tested = await testAgent(agent, { input: 'Q', model: aiSdk(() => model, { structuredOutput: true }), payloadStore });
  return { ...tested, model };
}

test.each<[form: string, data: unknown]>([
  ['v4', { type: 'data', data: 'AAAA' }],
  ['v4 bytes', { type: 'data', data: new Uint8Array([0, 0, 0]) }],
  ['v3', 'AAAA'],
  ['v3 bytes', new Uint8Array([0, 0, 0])],
])('a file of a model is read in the form of %s', async (_, data) => {
  const model = fakeModel([[{ ...image, data }, FINISH]]);
  expect(await aiSdk(() => model).call(request(), context())).toMatchObject({ files: [{ mediaType: 'image/png', data: 'AAAA' }] });
});

test('an image of a hosted tool is a file of the answer, and no byte of it is sent back', async () => {
  const parts: StreamPart[] = [
    { type: 'tool-call', toolCallId: 'ig_1', toolName: 'image_generation', input: '{}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'ig_1', toolName: 'image_generation', result: { result: 'AAAA' } },
  ];
  const model = fakeModel([[...parts, FINISH]]);
  const { files, providerItems, hosted } = await aiSdk(() => model).call(request(), context());
  expect(files).toEqual([{ mediaType: 'image/png', data: 'AAAA' }]);
  expect(hosted).toEqual([{ name: 'image_generation', input: '{}' }]);
  expect(JSON.stringify(providerItems)).not.toContain('AAAA');
});

describe.each(PACKAGES.filter(({ name }) => name === 'google'))('an image of $name ($spec)', ({ model, modelId }) => {
  test.each([true, false])('goes back to the model that made it, in its place (with reasoning: %s)', async (thinks) => {
    const made = Buffer.from('an image').toString('base64');
    server.script(
      { parts: [...(thinks ? [{ thinking: 'Hmm.' }] : []), { text: 'Look.' }, { image: made }, { call: 'look', id: 'g1', input: '{}' }] },
      { parts: [{ text: 'Done.' }] },
    );
    const agent = defineAgent({ name: 'painter', model: `p/${modelId}`, tools: [look] });
    const { result, events } = await testAgent(agent, { input: 'Q', model: aiSdk((id) => model(url, id)), payloadStore });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(server.refused).toEqual([]);
    expect(JSON.stringify(events)).not.toContain(made);
    const { parts } = (server.last['contents'] as { role: string; parts: object[] }[])[1] ?? { parts: [] };
    const [text, file] = thinks ? parts.slice(1) : parts;
    expect([text, file]).toMatchObject([{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: made } }]);
  });
});

test('an image is a part of the message, its bytes are in the store alone, and reasoning still goes back', async () => {
  const { result, events, model } = await run([[...reasoning, ...textParts('Look.').slice(0, 3), image, call, FINISH], textParts('Done.')]);
  expect(result.status).toBe('completed');
  const [answer] = events.flatMap(({ content, usage }) => (usage === undefined ? [] : [content]));
  expect(answer?.[0]).toEqual({ type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Look.' }, PART] });
  expect(events.every((event) => jsonBytes(event) < 10_000 && checkJson(EVENT, event).length === 0)).toBe(true);
  expect(model.calls[1]?.prompt).toContainEqual({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm', providerOptions: { fake: { signature: 'S' } } },
      { type: 'text', text: 'Look.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} },
    ],
  });
});

test('an image alone is an answer, and a structured one is read from its text', async () => {
  const alone = await run([[image, FINISH]]);
  expect(alone.result).toMatchObject({ status: 'completed', output: [PART] });
  const structured = await run([[...textParts('{"n":1}').slice(0, 3), image, FINISH]], z.object({ n: z.number() }));
  expect(structured.result).toMatchObject({ status: 'completed', output: { n: 1 } });
});

test.each<[bytes: number, isStored: boolean]>([
  [60_000, false],
  [70_000, true],
  [1_000_000, true],
])('data that a provider expects back goes to the store if it is large: %d bytes', async (bytes, isStored) => {
  const signature = 'S'.repeat(bytes);
  const signed: StreamPart[] = [...reasoning.slice(0, 2), { type: 'reasoning-end', id: 'r', providerMetadata: { fake: { signature } } }];
  const { result, events, model } = await run([[...signed, call, FINISH], textParts('Done.')]);
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(events.flatMap(({ notices = [] }) => notices)).toEqual([]);
  const owners = events.flatMap(({ providerItems = [] }) => providerItems.slice(0, 1));
  const places = owners.map((owner) => (owner as { spilled?: { store: string } }).spilled?.store);
  expect(places).toEqual([isStored ? 'files' : undefined]);
  expect(JSON.stringify(events).includes(signature)).toBe(!isStored);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain(signature);
});

test('data that a provider expects back stays in the event if the store fails, and the run continues', async () => {
  const signed: StreamPart = { type: 'reasoning-end', id: 'r', providerMetadata: { fake: { signature: 'S'.repeat(70_000) } } };
  const model = fakeModel([[...reasoning.slice(0, 2), signed, call, FINISH], textParts('Done.')]);
  const agent = defineAgent({ name: 'painter', model: 'fake/fake-1', tools: [look] });
  const broken = { ...payloadStore, store: () => Promise.reject(new Error('disk full')) };
  const { result } = await testAgent(agent, { input: 'Q', model: aiSdk(() => model), payloadStore: broken });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('S'.repeat(70_000));
});

describe('a file of the reasoning', () => {
  const thoughtOf = (data: string): StreamPart => ({
    type: 'reasoning-file',
    mediaType: 'image/png',
    data: { type: 'data', data },
    providerMetadata: { fake: { signature: 'S' } },
  });
  const inPrompt = (data: string) =>
    expect.objectContaining({ type: 'reasoning-file', data: { type: 'data', data }, providerOptions: { fake: { signature: 'S' } } });

  test.each(['AAAA', IMAGE])('goes back to its model, and is not part of the message or of any event (%#)', async (data) => {
    const { result, events, model } = await run([[thoughtOf(data), ...textParts('Look.').slice(0, 3), call, FINISH], textParts('Done.')]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(JSON.stringify(events)).not.toContain(data);
    expect(events.flatMap(({ content }) => content).filter(({ type }) => type === 'message')).toHaveLength(3);
    expect(answerIn(model)[0]).toEqual(inPrompt(data));
  });

  test.each([undefined, { ...payloadStore, store: () => Promise.reject(new Error('disk full')) }])(
    'is left out without a store, and with one that fails: signatures are kept (%#)',
    async (store) => {
      const model = fakeModel([[...reasoning, thoughtOf('AAAA'), call, FINISH], textParts('Done.')]);
      const agent = defineAgent({ name: 'painter', model: 'fake/fake-1', tools: [look] });
      const stored = store === undefined ? {} : { payloadStore: store };
      const { result, events, steps } = await testAgent(agent, { input: 'Q', model: aiSdk(() => model), ...stored });
      expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
      expect(JSON.stringify(events)).not.toContain('AAAA');
      expect(JSON.stringify(model.calls[1]?.prompt)).toContain('"signature":"S"');
      expect(steps[0]?.warnings?.join().includes('payload store')).toBe(store === undefined ? true : undefined);
    },
  );

  test('is left out if there are too many, or it has no data', async () => {
    const large = 'A'.repeat(2_000_000);
    const { steps, model } = await run([[thoughtOf(large), thoughtOf(large), thoughtOf(''), call, FINISH], textParts('Done.')]);
    expect(steps[0]?.warnings).toEqual([expect.stringContaining('too many'), expect.stringContaining('no data')]);
    expect(answerIn(model)).toHaveLength(2);
  });

  test('is not sent to a package of v3, which knows none', async () => {
    const answers = [[thoughtOf('AAAA'), call, FINISH], textParts('Done.')];
    const [newer, older] = [fakeModel(answers), fakeModel(answers.slice(1), { specificationVersion: 'v3' })];
    const agent = defineAgent({ name: 'painter', model: 'fake/fake-1', tools: [look] });
    let made = 0;
    const { result } = await testAgent(agent, {
      input: 'Q',
      payloadStore,
      model: {
        capabilities: { structuredOutput: true },
        call: (asked, given) => aiSdk(() => ((made += 1) === 1 ? newer : older)).call(asked, given),
      },
    });
    expect(result.status).toBe('completed');
    expect(JSON.stringify(older.calls)).not.toContain('reasoning-file');
  });
});

test('the images that Gemini thinks in go back to it with their signatures', async () => {
  const [gemini] = PACKAGES.filter(({ name, spec }) => name === 'google' && spec === 'v4');
  if (gemini === undefined) throw new Error('no package of Google');
  const part = (one: object): Buffer =>
    Buffer.from(`data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [one] }, index: 0 }] })}\n\n`);
  const data = Buffer.from('a draft').toString('base64');
  server.script(
    {
      family: gemini.family,
      chunks: [
        part({ inlineData: { mimeType: 'image/png', data }, thought: true, thoughtSignature: 'sig_draft' }),
        ...gemini.family.chunks({ parts: [{ call: 'look', id: 'g1', input: '{}' }] }, {}).map((chunk) => Buffer.from(chunk)),
      ],
    },
    { parts: [{ text: 'Done.' }] },
  );
  const agent = defineAgent({ name: 'painter', model: `p/${gemini.modelId}`, tools: [look] });
  const { result } = await testAgent(agent, { input: 'Q', model: aiSdk((id) => gemini.model(url, id)), payloadStore });
  const sent = (server.last['contents'] as { parts: object[] }[] | undefined)?.[1]?.parts[0];
  expect(sent).toEqual({ inlineData: { mimeType: 'image/png', data }, thought: true, thoughtSignature: 'sig_draft' });
  expect(result).toMatchObject({ output: 'Done.' });
});

test('the text next to an image is sent to another model of the list, too', async () => {
  const agent = defineAgent({
    name: 'painter',
    model: ['first/fake-1', 'second/fake-1'],
    tools: [look],
    fallback: { returnAt: 'call', coolDown: 0 },
  });
  const first = fakeModel([[...textParts('Look at this.').slice(0, 3), image, call, FINISH], new Error('down')]);
  const second = fakeModel([textParts('Done.')]);
  const model = { 'first/fake-1': aiSdk(() => first), 'second/fake-1': aiSdk(() => second) };
  const { result, steps } = await testAgent(agent, { input: 'Q', model, payloadStore });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(steps.map(({ answeredBy }) => answeredBy)).toEqual([undefined, 'second/fake-1']);
  expect(JSON.stringify(second.calls[0]?.prompt)).toContain('Look at this.');
  expect(JSON.stringify(second.calls[0]?.prompt)).toContain('look was called');
});

test('without a store the run ends with an error that names it, and the model is asked once', async () => {
  const model = fakeModel([[image, FINISH]]);
  const agent = defineAgent({ name: 'painter', model: 'fake/fake-1' });
  const { result } = await testAgent(agent, { input: 'Q', model: aiSdk(() => model) });
  expect(result).toMatchObject({ status: 'error', errorCode: 'model_error', error: expect.stringContaining('"payloadStore"') });
  expect(model.calls).toHaveLength(1);
});
