import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AssistantPart, ProviderMetadata, StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import { recordedLayout } from '../../activities/models/ai-sdk/layout.ts';
import { isJsonObject } from '../../src/core/domain/json.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { fileStore } from '../../src/stores/payload-store.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk, type AiSdkModel } from '../../worker/index.ts';
import { propertyRuns } from '../property-runs.ts';
import { fakeModel, FINISH, textParts } from './fake-model.ts';

const directory = await mkdtemp(join(tmpdir(), 'longhaul-layouts-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const payloadStore = fileStore({ directory });
const look = defineTool({ name: 'look', description: 'L', parameters: z.object({ q: z.string() }), execute: ({ q }) => `saw ${q}` });

/** A part of an answer as a package yields it, and as the same package reads it in the next request. */
interface Piece {
  yielded: StreamPart[];
  back: AssistantPart[];
  /** Its file. */
  bytes?: string;
}

type Spec = AiSdkModel['specificationVersion'];

/** No provider takes a blank text of the assistant. */
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '');
const metadata = fc.option(fc.record({ google: fc.record({ signature: fc.string({ minLength: 1 }), n: fc.nat() }) }), { nil: undefined });
const base64 = fc.uint8Array({ minLength: 30, maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64'));
/** Ids distinguish the parts of a piece. */
const ids = fc.uuid();

const provided = (m: ProviderMetadata | undefined) => (m === undefined ? {} : { providerMetadata: m });
const options = (m: ProviderMetadata | undefined) => (m === undefined ? {} : { providerOptions: m });

/** A text or reasoning in two deltas, whose metadata come with its first or its last part. */
const said = (type: 'text' | 'reasoning'): fc.Arbitrary<Piece> =>
  fc.tuple(ids, words, metadata, fc.boolean()).map(([id, text, m, comesFirst]) => ({
    yielded: [
      { type: `${type}-start`, id, ...provided(comesFirst ? m : undefined) },
      { type: `${type}-delta`, id, delta: text.slice(0, 1) },
      { type: `${type}-delta`, id, delta: text.slice(1) },
      { type: `${type}-end`, id, ...provided(comesFirst ? undefined : m) },
    ],
    back: [{ type, text, ...options(m) }],
  }));

const call: fc.Arbitrary<Piece> = fc.tuple(ids, words, metadata).map(([toolCallId, q, m]) => ({
  yielded: [{ type: 'tool-call', toolCallId, toolName: 'look', input: JSON.stringify({ q }), ...provided(m) }],
  back: [{ type: 'tool-call', toolCallId, toolName: 'look', input: { q }, ...options(m) }],
}));

const hosted: fc.Arbitrary<Piece> = fc
  .tuple(
    ids,
    words,
    fc.jsonValue({ maxDepth: 2 }).filter((value) => JSON.stringify(value) !== undefined),
    metadata,
    fc.boolean(),
  )
  .map(([toolCallId, query, found, m, isError]) => {
    const value: unknown = JSON.parse(JSON.stringify(found));
    const named = { toolCallId, toolName: 'search' };
    return {
      yielded: [
        { type: 'tool-call', ...named, input: JSON.stringify({ query }), providerExecuted: true, ...provided(m) },
        { type: 'tool-result', ...named, result: value, ...(isError ? { isError } : {}) },
      ],
      back: [
        { type: 'tool-call', ...named, input: { query }, providerExecuted: true, ...options(m) },
        { type: 'tool-result', ...named, output: { type: isError ? 'error-json' : 'json', value } },
      ],
    };
  });

/** A file has its data in another form in each specification. */
const file = (spec: Spec): fc.Arbitrary<Piece> =>
  fc.tuple(base64, fc.constantFrom('image/png', 'audio/wav', 'application/pdf'), metadata).map(([bytes, mediaType, m]) => {
    const data = spec === 'v4' ? { type: 'data', data: bytes } : bytes;
    return {
      yielded: [{ type: 'file', mediaType, data, ...provided(m) }],
      back: [{ type: 'file', mediaType, data, ...options(m) }],
      bytes,
    };
  });

/** What packages of v4 alone yield. */
const newer: fc.Arbitrary<Piece> = fc.oneof(
  fc.tuple(base64, metadata).map(([bytes, m]): Piece => {
    const thought = { mediaType: 'image/png', data: { type: 'data', data: bytes } };
    return {
      yielded: [{ type: 'reasoning-file', ...thought, ...provided(m) }],
      back: [{ type: 'reasoning-file', ...thought, ...options(m) }],
      bytes,
    };
  }),
  fc.tuple(words, metadata).map(([kind, m]): Piece => ({
    yielded: [{ type: 'custom', kind: `google.${kind}`, ...provided(m) }],
    back: [{ type: 'custom', kind: `google.${kind}`, ...options(m) }],
  })),
);

/** Pieces in any order, with a call: the next request then sends them back. A model gets its newest five files back. */
const layoutOf = (spec: Spec): fc.Arbitrary<Piece[]> => {
  const piece = fc.oneof(said('text'), said('reasoning'), call, hosted, file(spec), ...(spec === 'v4' ? [newer] : []));
  const pieces = fc.array(piece, { maxLength: 5 });
  return fc
    .tuple(pieces, call, pieces)
    .map(([before, one, after]) => [...before, one, ...after])
    .filter((all) => all.filter(({ bytes }) => bytes !== undefined).length <= 5);
};

describe.each<Spec>(['v4', 'v3'])('a package of %s', (spec) => {
  test('gets back its own output in the same order, whatever the layout of the answer', async () => {
    await fc.assert(
      fc.asyncProperty(layoutOf(spec), async (pieces) => {
        const facts = { specificationVersion: spec, provider: 'google.generative-ai' };
        const model = fakeModel([[...pieces.flatMap(({ yielded }) => yielded), FINISH], textParts('Done.')], facts);
        const agent = defineAgent({ name: 'painter', model: 'google/fake-1', tools: [look], limits: { toolCalls: 50 } });
        const { result, events } = await testAgent(agent, { input: 'Q', model: aiSdk(() => model), payloadStore });
        expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
        const sent = (model.calls[1]?.prompt ?? []) as { role: string; content: AssistantPart[] }[];
        expect(sent.find(({ role }) => role === 'assistant')?.content).toEqual(pieces.flatMap(({ back }) => back));
        // No event has a byte of a file, and no layout a text, which is in the content.
        const recorded = JSON.stringify(events);
        expect(pieces.filter(({ bytes }) => bytes !== undefined && recorded.includes(bytes))).toEqual([]);
        const texts = events.flatMap(({ providerItems = [] }) =>
          providerItems.filter((item) => isJsonObject(item) && item['t'] === 'text'),
        );
        expect(texts.filter((item) => !isJsonObject(item) || Object.keys(item).some((key) => !['t', 'n', 'm'].includes(key)))).toEqual([]);
      }),
      { numRuns: propertyRuns(60) },
    );
  }, 120_000);
});

test.each<[parts: Parameters<typeof recordedLayout>[0], isRecorded: boolean]>([
  [[{ t: 'text', text: 'A' }], false],
  [
    [
      { t: 'text', text: 'A' },
      { t: 'file', i: 0 },
      { t: 'call', i: 0 },
      { t: 'call', i: 1 },
    ],
    false,
  ],
  [
    [
      { t: 'call', i: 0 },
      { t: 'text', text: 'A' },
    ],
    true,
  ],
  [
    [
      { t: 'text', text: 'A' },
      { t: 'text', text: 'B' },
    ],
    true,
  ],
  [[{ t: 'text', text: 'A', m: { fake: { id: 1 } } }], true],
])('a layout is recorded if it says more than the content (%#)', (parts, isRecorded) => {
  expect(recordedLayout(parts) !== undefined).toBe(isRecorded);
});
